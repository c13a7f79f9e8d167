// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* object/inject_parse.c: texts that are rules or not; and which matches of a rule fire. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "object/inject_parse.h"
#include "fuzz.h"

#define INJECT_SEED	0x696e6a65U
/* random texts that are read as rules */
#define INJECT_FUZZ	20000U
#define INJECT_LONGEST	200

struct inject_bad_row {
	const char	*text;
	u32		at;
	const char	*what;
};

static const struct inject_bad_row inject_bad_rows[] = {
	{ "", 0, "no rule" },
	{ "   ", 3, "no rule" },
	{ "packets drop", 0, "a rule begins with request, receive, packet, verb, cq or alloc" },
	{ "packet", 6, "no action" },
	{ "packet qp=5", 11, "no action" },
	{ "packet lose", 7, "no such word in a rule" },
	{ "packet drop drop", 12, "twice in one rule" },
	{ "packet drop duplicate", 12, "a second action" },
	{ "packet drop=1", 7, "it has no value" },
	{ "packet qp drop", 7, "its value is missing" },
	{ "packet qp= drop", 7, "not a number" },
	{ "packet qp=x drop", 7, "not a number" },
	{ "packet qp=0x1000000 drop", 7, "number out of range" },
	{ "packet  n=0 drop", 8, "number out of range" },
	{ "packet every=99999999999999999999 drop", 7, "not a number" },
	{ "packet chance=2 drop", 7, "a chance is from 0.000001 to 1" },
	{ "packet chance=0 drop", 7, "a chance is from 0.000001 to 1" },
	{ "packet chance=1.5 drop", 7, "a chance is from 0.000001 to 1" },
	{ "packet chance=0. drop", 7, "a chance is from 0.000001 to 1" },
	{ "packet chance=0.0000001 drop", 7, "a chance has at most six decimals" },
	{ "packet chance=0.x drop", 7, "a chance has at most six decimals" },
	{ "packet psn=5-4 drop", 7, "number out of range" },
	{ "packet psn=-4 drop", 7, "not a number" },
	{ "packet delay=5", 7, "a time is a number and us, ms or s" },
	{ "packet delay=ms", 7, "a time is a number and us, ms or s" },
	{ "packet delay=0ms", 7, "a time is from 1us to 60s" },
	{ "packet delay=61s", 7, "a time is from 1us to 60s" },
	{ "packet after=1 drop", 7, "a time is a number and us, ms or s" },
	{ "packet for=2m drop", 7, "a time is a number and us, ms or s" },
	{ "packet peer=host drop", 7, "not an address" },
	{ "packet peer=10.1.1 drop", 7, "not an address" },
	{ "packet peer=fd00::1::2 drop", 7, "not an address" },
	{ "request peer=10.1.1.1 delay=1s", 8, "not for this kind of rule" },
	{ "packet set=psn", 7, "no such field of a packet" },
	{ "packet set=ps:1", 7, "no such field of a packet" },
	{ "packet set=:1", 7, "no such field of a packet" },
	{ "packet set=psn:", 7, "not a number" },
	{ "packet set=psn:0x1000000", 7, "number out of range" },
	{ "packet set=se:2", 7, "number out of range" },
	{ "packet set=fecn:2", 7, "number out of range" },
	{ "packet set=opcode:256", 7, "number out of range" },
	{ "packet set=pkey:65536", 7, "number out of range" },
	{ "packet set=dest-qp:0xffffff", 7, "number out of range" },
	{ "packet late=1ms", 7, "not for this kind of rule" },
	{ "request cnp", 8, "not for this kind of rule" },
	{ "request late=61s", 8, "a time is from 1us to 60s" },
	{ "packet dir=out cnp", 18, "a packet that leaves can only be dropped or duplicated" },
	{ "packet rate=5", 7, "a rate is a number and kbit, mbit or gbit" },
	{ "packet rate=0kbit", 7, "a rate is from 1kbit to 1000gbit" },
	{ "packet rate=1001gbit", 7, "a rate is from 1kbit to 1000gbit" },
	{ "packet delay=1ms reorder", 24, "reorder without jitter" },
	{ "packet delay=1ms jitter=1ms drop", 28, "a second action" },
	{ "request jitter=1ms", 8, "not for this kind of rule" },
	{ "packet message=0 drop", 7, "messages are counted from 1 on" },
	{ "packet dir=out message=2 drop", 29, "messages are counted where they arrive" },
	{ "packet path=other drop", 7, "no such path" },
	{ "request path=armed delay=1ms", 8, "not for this kind of rule" },
	{ "packet truncate=-1", 7, "not a number" },
	{ "packet hold drop", 12, "a second action" },
	{ "packet cq-overrun", 7, "not for this kind of rule" },
	{ "packet dir=up drop", 7, "no such direction" },
	{ "packet dir=out hold", 19, "a packet that leaves can only be dropped or duplicated" },
	{ "packet service=rd drop", 7, "no such service" },
	{ "packet opcode=sent drop", 7, "no such opcode" },
	{ "packet opcode=read-response nak=sequence", 40,
	  "a NAK takes the place of an ack, or refuses a request" },
	{ "packet opcode=send nak=invalid-rd-request", 41, "there are no RD requests to refuse" },
	{ "packet rnr=32", 7, "number out of range" },
	{ "packet complete=GENERAL_ERR", 7, "not for this kind of rule" },
	{ "packet comm=sixteen-letters-x drop", 7, "a name of a process has 1 to 15 bytes" },
	{ "packet pid=0 drop", 7, "not a process id" },
	{ "packet comm=\x80 drop", 7, "a name of a process is printable ASCII" },
	{ "request complete=SUCCESS", 8, "no such error status" },
	{ "request drop", 8, "not for this kind of rule" },
	{ "request delay=1ms vendor_err=3", 30, "vendor_err without complete" },
	{ "request complete=GENERAL_ERR vendor_err=256", 29, "number out of range" },
	{ "receive complete=RETRY_EXC_ERR", 8, "no receive completes with this status" },
	{ "receive delay=1ms", 8, "not for this kind of rule" },
	{ "cq qp=5 lose-event", 3, "not for this kind of rule" },
	{ "cq drop", 3, "not for this kind of rule" },
	{ "cq cqn=5", 8, "no action" },
	{ "packet lose-event", 7, "not for this kind of rule" },
	{ "packet dir=out ce", 17, "a packet that leaves can only be dropped or duplicated" },
	{ "alloc name=cake fail=ENOMEM", 6, "no such allocation" },
	{ "alloc name=qp fail=EINVAL", 25, "an allocation fails with ENOMEM" },
	{ "alloc name=qp drop", 14, "not for this kind of rule" },
	{ "verb name=qp fail=ENOMEM", 5, "not for this kind of rule" },
	{ "verb fail=ENOBODY", 5, "no such errno" },
	{ "verb verb=destroy_qp fail=EINVAL", 5, "no such verb" },
	{ "verb verb=create_qp state=RTR fail=EINVAL", 41, "state without verb=modify_qp" },
	{ "packet drop aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	  12, "too long a word" },
};

static void inject_bad_row_desc(const struct inject_bad_row *row, char *desc)
{
	strscpy(desc, row->text, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(inject_bad_row, inject_bad_rows, inject_bad_row_desc);

static void bad_text(struct kunit *test)
{
	const struct inject_bad_row *row = test->param_value;
	struct weft_inject_error error;
	struct weft_inject_rule *rule = weft_inject_parse(row->text, &error);

	KUNIT_ASSERT_TRUE(test, IS_ERR(rule));
	KUNIT_EXPECT_EQ(test, PTR_ERR(rule), -EINVAL);
	KUNIT_EXPECT_STREQ(test, error.what, row->what);
	KUNIT_EXPECT_EQ(test, error.at, row->at);
}

static struct weft_inject_rule *inject_rule(struct kunit *test, const char *text)
{
	struct weft_inject_error error;
	struct weft_inject_rule *rule = weft_inject_parse(text, &error);

	if (IS_ERR(rule))
		KUNIT_FAIL(test, "%s: %s at %u", text, error.what, error.at);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rule));
	return rule;
}

static void good_text(struct kunit *test)
{
	struct weft_inject_rule *rule;

	rule = inject_rule(test, "packet\tqp=0x11  bytes=8- psn=5-7 attempt=retry drop ");
	KUNIT_EXPECT_EQ(test, rule->place, WEFT_INJECT_PACKET);
	KUNIT_EXPECT_EQ(test, rule->action, WEFT_INJECT_DROP);
	KUNIT_EXPECT_EQ(test, rule->qpn, 0x11);
	KUNIT_EXPECT_EQ(test, rule->bytes.from, 8);
	KUNIT_EXPECT_EQ(test, rule->bytes.to, U32_MAX);
	KUNIT_EXPECT_EQ(test, rule->psn.from, 5);
	KUNIT_EXPECT_EQ(test, rule->psn.to, 7);
	KUNIT_EXPECT_TRUE(test, rule->again);
	kfree(rule);

	rule = inject_rule(test, "request comm=rping complete=IBV_WC_RETRY_EXC_ERR vendor_err=9");
	KUNIT_EXPECT_EQ(test, rule->action, WEFT_INJECT_COMPLETE);
	KUNIT_EXPECT_EQ(test, rule->status, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, rule->vendor_err, 9);
	KUNIT_EXPECT_STREQ(test, rule->owner.comm, "rping");
	kfree(rule);

	rule = inject_rule(test, "receive bytes=9 complete=IBV_WC_LOC_LEN_ERR vendor_err=7");
	KUNIT_EXPECT_EQ(test, rule->place, WEFT_INJECT_RECEIVE);
	KUNIT_EXPECT_EQ(test, rule->status, IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, rule->vendor_err, 7);
	KUNIT_EXPECT_EQ(test, rule->bytes.from, 9);
	kfree(rule);

	rule = inject_rule(test, "verb verb=modify_qp state=RTR fail=ETIMEDOUT");
	KUNIT_EXPECT_EQ(test, rule->error, ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, rule->state, IB_QPS_RTR);
	kfree(rule);

	rule = inject_rule(test, "packet opcode=send rnr=3 peer=10.0.0.1 after=2ms for=1s");
	KUNIT_EXPECT_EQ(test, rule->action, WEFT_INJECT_REFUSE);
	KUNIT_EXPECT_EQ(test, rule->begin, 2 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, rule->end, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, be32_to_cpup((__be32 *)&rule->peer.raw[8]), 0xffff);
	KUNIT_EXPECT_EQ(test, be32_to_cpup((__be32 *)&rule->peer.raw[12]), 0x0a000001);
	kfree(rule);

	rule = inject_rule(test, "packet peer=fd00::9 set=address:0xfedcba9876543210");
	KUNIT_EXPECT_EQ(test, rule->action, WEFT_INJECT_SET);
	KUNIT_EXPECT_EQ(test, rule->field, WEFT_FIELD_ADDRESS);
	KUNIT_EXPECT_EQ(test, rule->value, 0xfedcba9876543210);
	KUNIT_EXPECT_EQ(test, rule->peer.raw[15], 9);
	kfree(rule);

	rule = inject_rule(test, "packet rate=10mbit message=2- delay=1ms jitter=2ms reorder");
	KUNIT_EXPECT_EQ(test, rule->action, WEFT_INJECT_DELAY_IT);
	KUNIT_EXPECT_EQ(test, rule->rate, 10000);
	KUNIT_EXPECT_EQ(test, rule->jitter, 2 * NSEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, rule->reorder);
	KUNIT_EXPECT_EQ(test, rule->messages.from, 2);
	KUNIT_EXPECT_EQ(test, rule->messages.to, U32_MAX);
	kfree(rule);

	rule = inject_rule(test, "packet chance=0.25 delay=250us");
	KUNIT_EXPECT_EQ(test, rule->chance, 250000);
	KUNIT_EXPECT_EQ(test, rule->delay, 250 * NSEC_PER_USEC);
	kfree(rule);
}

struct inject_fire_row {
	const char	*text;
	u64		fires;	/* a bit for each of 64 matches */
};

static const struct inject_fire_row inject_fire_rows[] = {
	{ "packet drop", ~0ULL },
	{ "packet n=1 drop", 1 },
	{ "packet n=5 drop", BIT_ULL(4) },
	{ "packet every=16 drop", BIT_ULL(15) | BIT_ULL(31) | BIT_ULL(47) | BIT_ULL(63) },
	{ "packet n=2 every=30 drop", BIT_ULL(1) | BIT_ULL(31) | BIT_ULL(61) },
	{ "packet n=61 every=1 drop", 0xfULL << 60 },
	{ "packet times=3 drop", 7 },
	{ "packet every=2 times=2 drop", BIT_ULL(1) | BIT_ULL(3) },
};

static void inject_fire_row_desc(const struct inject_fire_row *row, char *desc)
{
	strscpy(desc, row->text, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(inject_fire_row, inject_fire_rows, inject_fire_row_desc);

static void fires(struct kunit *test)
{
	const struct inject_fire_row *row = test->param_value;
	struct weft_inject_rule *rule = inject_rule(test, row->text);
	u64 got = 0;
	int i;

	for (i = 0; i < 64; i++)
		got |= (u64)weft_inject_fires(rule) << i;
	KUNIT_EXPECT_EQ(test, got, row->fires);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rule->matched), 64);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rule->fired), hweight64(row->fires));
	kfree(rule);
}

static u64 inject_run(struct kunit *test, const char *text, int num)
{
	struct weft_inject_rule *rule = inject_rule(test, text);
	u64 last = 0;
	int i;

	for (i = 0; i < num; i++)
		last = last << 1 | weft_inject_fires(rule);
	KUNIT_EXPECT_GE(test, atomic64_read(&rule->fired), num / 4 * 95 / 100);
	KUNIT_EXPECT_LE(test, atomic64_read(&rule->fired), num / 4 * 105 / 100);
	kfree(rule);
	return last;
}

/* The same seed makes the same decisions, another one makes others, and a quarter is a quarter. */
static void chance_is_seeded(struct kunit *test)
{
	u64 first = inject_run(test, "packet chance=0.25 seed=7 drop", 40000);

	KUNIT_EXPECT_EQ(test, inject_run(test, "packet chance=0.25 seed=7 drop", 40000), first);
	KUNIT_EXPECT_NE(test, inject_run(test, "packet chance=0.25 seed=8 drop", 40000), first);
}

static const char * const inject_words[] = {
	"packet", "request", "verb", "qp", "pid", "comm", "service", "opcode", "bytes", "psn",
	"position", "attempt", "state", "n", "every", "times", "chance", "seed", "complete",
	"vendor_err", "delay", "drop", "duplicate", "bad-icrc", "bad-data", "nak", "rnr", "fail",
	"=", "-", " ", "\t", "0", "1", "0.5", "5ms", "send", "rc", "ENOMEM", "RETRY_EXC_ERR",
	"create_qp", "RTR", "last", "retry", "sequence", "99999999999999999999", "\x80\xff",
	"cq", "alloc", "name=", "ring", "packet drop", "request complete=", "qp=5", "peer=",
	"10.1.1.1", "fd00::1", "set=", "psn:5", "truncate=", "hold", "dir=", "out", "after=",
	"for=", "5-9", "lose-event", "overrun", "fail=", "chance=0.", "every=", "delay=", "nak=",
	"service=", "ce", "cqn=", "cq-overrun", "cnp", "set=opcode:", "pkey:", "dest-qp:",
	"fecn:1", "becn:0", "verb=create_wq", "advise_mr", "late=", "jitter=", "rate=", "10mbit",
	"reorder", "message=", "receive", "receive complete=",
};

static void inject_append(char text[INJECT_LONGEST], const char *word)
{
	size_t length = strlen(text);

	strscpy(text + length, word, INJECT_LONGEST - length);
}

static void inject_random_text(struct rnd_state *rnd, char text[INJECT_LONGEST])
{
	u32 words = prandom_u32_state(rnd) % 12, word;

	text[0] = '\0';
	while (words--) {
		if (prandom_u32_state(rnd) % 2)
			inject_append(text, " ");
		word = prandom_u32_state(rnd) % ARRAY_SIZE(inject_words);
		inject_append(text, inject_words[word]);
	}
	/* and a byte that may be anything */
	if (text[0] && !(prandom_u32_state(rnd) % 4))
		text[prandom_u32_state(rnd) % strlen(text)] = prandom_u32_state(rnd) % 255 + 1;
}

/* Each text is a rule with an action, or is refused at a place within it. */
static void random_texts(struct kunit *test)
{
	char *text = kunit_kzalloc(test, INJECT_LONGEST, GFP_KERNEL);
	struct weft_inject_error error;
	struct weft_inject_rule *rule;
	struct rnd_state rnd;
	u32 i, good = 0;

	KUNIT_ASSERT_NOT_NULL(test, text);
	prandom_seed_state(&rnd, INJECT_SEED + fuzz_seed);
	for_each_fuzz(i, INJECT_FUZZ) {
		inject_random_text(&rnd, text);
		rule = weft_inject_parse(text, &error);
		if (IS_ERR(rule)) {
			KUNIT_ASSERT_EQ_MSG(test, PTR_ERR(rule), -EINVAL, "%s", text);
			KUNIT_ASSERT_NOT_NULL_MSG(test, error.what, "%s", text);
			KUNIT_ASSERT_LE_MSG(test, error.at, strlen(text), "%s", text);
			continue;
		}
		KUNIT_ASSERT_NE_MSG(test, rule->action, WEFT_INJECT_NO_ACTION, "%s", text);
		KUNIT_ASSERT_STREQ_MSG(test, rule->text, text, "%s", text);
		good++;
		kfree(rule);
	}
	kunit_info(test, "%u texts, %u of them rules", i, good);
	KUNIT_EXPECT_GT(test, good, 0);
}

static struct kunit_case inject_cases[] = {
	KUNIT_CASE_PARAM(bad_text, inject_bad_row_gen_params),
	KUNIT_CASE(good_text),
	KUNIT_CASE_PARAM(fires, inject_fire_row_gen_params),
	KUNIT_CASE(chance_is_seeded),
	KUNIT_CASE(random_texts),
	{}
};

static struct kunit_suite inject_suite = {
	.name = "weft_inject",
	.test_cases = inject_cases,
};

kunit_test_suite(inject_suite);
