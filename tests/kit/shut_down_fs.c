/* tests/kit/shut_down_fs.c - end a file system as a dying disk does
 *
 *     shut_down_fs DIR flush|log|nothing
 *
 * All that is done with an ext4 file system fails from then on, until it is
 * mounted again.  Before that everything is written that was not, the journal
 * only, or nothing: that is what a power failure leaves.  For root.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SHUT_DOWN _IOR ('X', 125, uint32_t)     // EXT4_IOC_SHUTDOWN

int main (int argc, char **argv)
{
    static const char *const words[] = { "flush", "log", "nothing" };
    uint32_t how = 0;
    int fd;

    if (argc != 3)
        return 2;
    while (how < 3 && strcmp (argv[2], words[how]) != 0)
        how++;
    fd = open (argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (how == 3 || fd < 0 || ioctl (fd, SHUT_DOWN, &how) < 0) {
        perror ("shut_down_fs");
        return 1;
    }
    return close (fd) == 0 ? 0 : 1;
}
