// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * growth: for each line with a number N that it reads, it looks at what the kernel has in
 * use, and says so. A thing that has grown from each of the last usages to the next, by more
 * than N things done in between may leave behind, is a leak.
 *
 * It answers by a line that begins with "flat" or "grows", after what there is to say.
 */
#include "lib.h"
#include "usage.h"

int main(void)
{
	struct usage *last[USAGE_WINDOWS + 1] = {};
	int num, have = 0, count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%d", &num) == 1) {
		if (have == ARRAY_SIZE(last)) {
			free(last[0]);
			memmove(last, last + 1, sizeof(last) - sizeof(last[0]));
			have--;
		}
		last[have++] = usage_take(num);
		usage_show(last[have - 1]);
		count = have == ARRAY_SIZE(last) ? usage_growing(last, USAGE_WINDOWS) : 0;
		printf("%s\n", count ? "grows" : "flat");
	}
	return 0;
}
