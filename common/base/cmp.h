/* common/base/cmp.h - compare plain values, for qsort and bsearch */
#ifndef ROLLCALL_BASE_CMP_H
#define ROLLCALL_BASE_CMP_H

/* The arguments point to an int32_t, an int64_t, and a double that is not NaN.
 */
int cmp_int32 (const void *pa, const void *pb);
int cmp_int64 (const void *pa, const void *pb);
int cmp_double (const void *pa, const void *pb);

/* The arguments point to a char *. The texts are compared byte by byte. */
int cmp_text (const void *pa, const void *pb);

#endif
