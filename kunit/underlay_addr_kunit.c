// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/underlay_addr.c: addresses as users write them and as they are printed. */
#include <kunit/test.h>
#include <linux/inet.h>

#include "fabric/underlay_addr.h"

/* The size of a file in sysfs. */
#define ADDR_TEXT	4096

static char *addr_text(struct kunit *test, const struct weft_underlay_addrs *list, size_t size)
{
	char *text = kunit_kzalloc(test, ADDR_TEXT, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_EQ(test, weft_underlay_addrs_print(list, text, size), (int)strlen(text));
	return text;
}

/* Parse @text, and print the result. */
static void expect_text(struct kunit *test, const char *text, u32 num, const char *again)
{
	struct weft_underlay_addrs list;

	/* the former contents must not matter */
	memset(&list, 0xff, sizeof(list));
	KUNIT_ASSERT_EQ_MSG(test, weft_underlay_addrs_parse(&list, text), 0, "'%s'", text);
	KUNIT_EXPECT_EQ(test, list.num, num);
	KUNIT_EXPECT_STREQ(test, addr_text(test, &list, ADDR_TEXT), again);
}

static void lists(struct kunit *test)
{
	expect_text(test, "", 0, "\n");
	expect_text(test, " ,\n", 0, "\n");
	expect_text(test, "192.0.2.1", 1, "192.0.2.1\n");
	expect_text(test, "192.0.2.1\n", 1, "192.0.2.1\n");
	expect_text(test, "192.0.2.1,198.51.100.255", 2, "192.0.2.1 198.51.100.255\n");
	expect_text(test, "  192.0.2.1 ,\t2001:db8::1\n", 2, "192.0.2.1 2001:db8::1\n");
	expect_text(test, "2001:DB8:0:0:0:0:0:a", 1, "2001:db8::a\n");
	expect_text(test, "fe80::1", 1, "fe80::1\n");
	/* duplicates, also in another notation */
	expect_text(test, "192.0.2.1 192.0.2.1", 1, "192.0.2.1\n");
	expect_text(test, "192.0.2.1 ::ffff:192.0.2.1", 1, "192.0.2.1\n");
}

static void kinds(struct kunit *test)
{
	struct weft_underlay_addr same = {};
	struct weft_underlay_addrs list;

	KUNIT_ASSERT_EQ(test, weft_underlay_addrs_parse(&list, "192.0.2.1 2001:db8::1"), 0);
	KUNIT_EXPECT_TRUE(test, weft_underlay_addr_is_ipv4(&list.addr[0]));
	KUNIT_EXPECT_FALSE(test, weft_underlay_addr_is_ipv4(&list.addr[1]));
	weft_underlay_addr_set_ipv4(&same, in_aton("192.0.2.1"));
	KUNIT_EXPECT_TRUE(test, weft_underlay_addr_equal(&list.addr[0], &same));
	KUNIT_EXPECT_FALSE(test, weft_underlay_addr_equal(&list.addr[1], &same));
}

static void no_addresses(struct kunit *test)
{
	static const char * const text[] = {
		"a", "192.0.2", "192.0.2.1.2", "192.0.2.256", "192.0.2.1x", "192.0.2.1/24",
		"192.0.2.1:1", "2001:db8::1::2", "2001:db8::1/64", "fe80::1%eth0", "localhost",
		":", "[2001:db8::1]", "192.0.2.1 a", "a 192.0.2.1",
		/* addresses that cannot be those of a single other host */
		"0.0.0.0", "127.0.0.1", "255.255.255.255", "224.0.0.1", "239.1.1.1", "::", "::1",
		"ff02::1", "::ffff:127.0.0.1", "::ffff:224.0.0.1",
	};
	struct weft_underlay_addrs list, before;
	u32 i;

	KUNIT_ASSERT_EQ(test, weft_underlay_addrs_parse(&list, "192.0.2.1"), 0);
	before = list;
	for (i = 0; i < ARRAY_SIZE(text); i++) {
		KUNIT_EXPECT_EQ_MSG(test, weft_underlay_addrs_parse(&list, text[i]), -EINVAL,
				    "'%s'", text[i]);
		KUNIT_EXPECT_EQ(test, memcmp(&list, &before, sizeof(list)), 0);
	}
}

static void too_many(struct kunit *test)
{
	char *text = kunit_kzalloc(test, ADDR_TEXT, GFP_KERNEL);
	struct weft_underlay_addrs list;
	int length = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, text);
	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		length += scnprintf(text + length, ADDR_TEXT - length, "192.0.2.%u ", i + 1);
	KUNIT_EXPECT_EQ(test, weft_underlay_addrs_parse(&list, text), 0);
	KUNIT_EXPECT_EQ(test, list.num, WEFT_UPLINK_PEERS);
	scnprintf(text + length, ADDR_TEXT - length, "192.0.2.1");
	KUNIT_EXPECT_EQ(test, weft_underlay_addrs_parse(&list, text), 0);
	scnprintf(text + length, ADDR_TEXT - length, "192.0.2.200");
	KUNIT_EXPECT_EQ(test, weft_underlay_addrs_parse(&list, text), -E2BIG);
	KUNIT_EXPECT_EQ(test, list.num, WEFT_UPLINK_PEERS);
}

/* The longest list fits; in a smaller buffer no byte is written behind the end. */
static void room(struct kunit *test)
{
	struct weft_underlay_addrs list = { .num = WEFT_UPLINK_PEERS };
	char *text;
	u32 i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		memset(&list.addr[i], 0xab, sizeof(list.addr[i]));
	text = addr_text(test, &list, ADDR_TEXT);
	KUNIT_EXPECT_EQ(test, strlen(text), WEFT_UPLINK_PEERS * strlen("abab:") * 8);
	for (i = 1; i < 100; i++)
		KUNIT_EXPECT_LT(test, strlen(addr_text(test, &list, i)), i);
}

static struct kunit_case addr_cases[] = {
	KUNIT_CASE(lists),
	KUNIT_CASE(kinds),
	KUNIT_CASE(no_addresses),
	KUNIT_CASE(too_many),
	KUNIT_CASE(room),
	{}
};

static struct kunit_suite addr_suite = {
	.name = "weft_underlay_addr",
	.test_cases = addr_cases,
};

kunit_test_suite(addr_suite);
