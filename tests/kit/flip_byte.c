/* tests/kit/flip_byte.c - turn one byte of a file into another
 *
 *     flip_byte FILE POSITION [XOR]    XOR 1 to 255, by default 255
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main (int argc, char **argv)
{
    off_t at = argc > 2 ? (off_t)atoll (argv[2]) : -1;
    int mask = argc > 3 ? atoi (argv[3]) : 255;
    int fd = argc > 2 ? open (argv[1], O_RDWR | O_CLOEXEC) : -1;
    uint8_t byte;

    if (fd < 0 || pread (fd, &byte, 1, at) != 1) {
        fprintf (stderr, "flip_byte: cannot read that byte\n");
        return 1;
    }
    byte = (uint8_t)(byte ^ mask);
    return pwrite (fd, &byte, 1, at) == 1 && close (fd) == 0 ? 0 : 1;
}
