// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wire/opcode.c, compared with the table of IBA, which is repeated here in IBA's words.
 */
#include <kunit/test.h>
#include <rdma/weft-abi.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "wire/opcode.h"

/* The opcode, its name in IBA, and the contents of the packet after the BTH. */
struct iba_row {
	u8		opcode;
	const char	*name;
	const char	*packet;
};

/* Table 38; XRC: A14; FLUSH and ATOMIC WRITE: A19; CNP: A17; the last two: weft's own. */
static const struct iba_row iba_rows[] = {
	{ 0x00, "RC SEND First", "PayLd" },
	{ 0x01, "RC SEND Middle", "PayLd" },
	{ 0x02, "RC SEND Last", "PayLd" },
	{ 0x03, "RC SEND Last with Immediate", "ImmDt PayLd" },
	{ 0x04, "RC SEND Only", "PayLd" },
	{ 0x05, "RC SEND Only with Immediate", "ImmDt PayLd" },
	{ 0x06, "RC RDMA WRITE First", "RETH PayLd" },
	{ 0x07, "RC RDMA WRITE Middle", "PayLd" },
	{ 0x08, "RC RDMA WRITE Last", "PayLd" },
	{ 0x09, "RC RDMA WRITE Last with Immediate", "ImmDt PayLd" },
	{ 0x0a, "RC RDMA WRITE Only", "RETH PayLd" },
	{ 0x0b, "RC RDMA WRITE Only with Immediate", "RETH ImmDt PayLd" },
	{ 0x0c, "RC RDMA READ Request", "RETH" },
	{ 0x0d, "RC RDMA READ response First", "AETH PayLd" },
	{ 0x0e, "RC RDMA READ response Middle", "PayLd" },
	{ 0x0f, "RC RDMA READ response Last", "AETH PayLd" },
	{ 0x10, "RC RDMA READ response Only", "AETH PayLd" },
	{ 0x11, "RC Acknowledge", "AETH" },
	{ 0x12, "RC ATOMIC Acknowledge", "AETH AtomicAckETH" },
	{ 0x13, "RC CmpSwap", "AtomicETH" },
	{ 0x14, "RC FetchAdd", "AtomicETH" },
	{ 0x16, "RC SEND Last with Invalidate", "IETH PayLd" },
	{ 0x17, "RC SEND Only with Invalidate", "IETH PayLd" },
	{ 0x1c, "RC FLUSH", "FETH RETH" },
	{ 0x1d, "RC ATOMIC WRITE", "RETH PayLd8" },
	{ 0x20, "UC SEND First", "PayLd" },
	{ 0x21, "UC SEND Middle", "PayLd" },
	{ 0x22, "UC SEND Last", "PayLd" },
	{ 0x23, "UC SEND Last with Immediate", "ImmDt PayLd" },
	{ 0x24, "UC SEND Only", "PayLd" },
	{ 0x25, "UC SEND Only with Immediate", "ImmDt PayLd" },
	{ 0x26, "UC RDMA WRITE First", "RETH PayLd" },
	{ 0x27, "UC RDMA WRITE Middle", "PayLd" },
	{ 0x28, "UC RDMA WRITE Last", "PayLd" },
	{ 0x29, "UC RDMA WRITE Last with Immediate", "ImmDt PayLd" },
	{ 0x2a, "UC RDMA WRITE Only", "RETH PayLd" },
	{ 0x2b, "UC RDMA WRITE Only with Immediate", "RETH ImmDt PayLd" },
	{ 0x64, "UD SEND Only", "DETH PayLd" },
	{ 0x65, "UD SEND Only with Immediate", "DETH ImmDt PayLd" },
	{ 0x81, "CNP", "PayLd16" },
	{ 0xa0, "XRC SEND First", "XRCETH PayLd" },
	{ 0xa1, "XRC SEND Middle", "XRCETH PayLd" },
	{ 0xa2, "XRC SEND Last", "XRCETH PayLd" },
	{ 0xa3, "XRC SEND Last with Immediate", "XRCETH ImmDt PayLd" },
	{ 0xa4, "XRC SEND Only", "XRCETH PayLd" },
	{ 0xa5, "XRC SEND Only with Immediate", "XRCETH ImmDt PayLd" },
	{ 0xa6, "XRC RDMA WRITE First", "XRCETH RETH PayLd" },
	{ 0xa7, "XRC RDMA WRITE Middle", "XRCETH PayLd" },
	{ 0xa8, "XRC RDMA WRITE Last", "XRCETH PayLd" },
	{ 0xa9, "XRC RDMA WRITE Last with Immediate", "XRCETH ImmDt PayLd" },
	{ 0xaa, "XRC RDMA WRITE Only", "XRCETH RETH PayLd" },
	{ 0xab, "XRC RDMA WRITE Only with Immediate",
	  "XRCETH RETH ImmDt PayLd" },
	{ 0xac, "XRC RDMA READ Request", "XRCETH RETH" },
	{ 0xad, "XRC RDMA READ response First", "AETH PayLd" },
	{ 0xae, "XRC RDMA READ response Middle", "PayLd" },
	{ 0xaf, "XRC RDMA READ response Last", "AETH PayLd" },
	{ 0xb0, "XRC RDMA READ response Only", "AETH PayLd" },
	{ 0xb1, "XRC Acknowledge", "AETH" },
	{ 0xb2, "XRC ATOMIC Acknowledge", "AETH AtomicAckETH" },
	{ 0xb3, "XRC CmpSwap", "XRCETH AtomicETH" },
	{ 0xb4, "XRC FetchAdd", "XRCETH AtomicETH" },
	{ 0xb6, "XRC SEND Last with Invalidate", "XRCETH IETH PayLd" },
	{ 0xb7, "XRC SEND Only with Invalidate", "XRCETH IETH PayLd" },
	{ 0xbc, "XRC FLUSH", "XRCETH FETH RETH" },
	{ 0xbd, "XRC ATOMIC WRITE", "XRCETH RETH PayLd8" },
	{ 0xd1, "RC gap map", "AETH PayLd132" },
	{ 0xd3, "RC masked CmpSwap", "AtomicETH Masks" },
	{ 0xd4, "RC masked FetchAdd", "AtomicETH Masks" },
};

static void iba_row_desc(const struct iba_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(iba_row, iba_rows, iba_row_desc);

static const struct iba_row *iba_find(u8 opcode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(iba_rows); i++)
		if (iba_rows[i].opcode == opcode)
			return &iba_rows[i];
	return NULL;
}

static bool iba_has(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *p;

	for (p = strstr(text, word); p; p = strstr(p + 1, word))
		if ((p == text || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

/* A word in iba_row.packet, and the bit and length of that header (IBA 9.3). */
static const struct iba_header {
	const char	*word;
	u16		ext;
	u8		length;
} iba_headers[] = {
	{ "DETH",		WEFT_EXT_DETH,		8 },
	{ "XRCETH",		WEFT_EXT_XRCETH,	4 },
	{ "FETH",		WEFT_EXT_FETH,		4 },
	{ "RETH",		WEFT_EXT_RETH,		16 },
	{ "AtomicETH",		WEFT_EXT_ATOMIC,	28 },
	{ "Masks",		WEFT_EXT_MASKS,		16 },
	{ "AETH",		WEFT_EXT_AETH,		4 },
	{ "AtomicAckETH",	WEFT_EXT_ATOMIC_ACK,	8 },
	{ "ImmDt",		WEFT_EXT_IMM,		4 },
	{ "IETH",		WEFT_EXT_IETH,		4 },
};

static void opcode_headers_match_iba(struct kunit *test)
{
	const struct iba_row *row = test->param_value;
	const struct weft_opcode *op = weft_opcode(row->opcode);
	u8 length = 12;
	u16 ext = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(iba_headers); i++) {
		if (!iba_has(row->packet, iba_headers[i].word))
			continue;
		ext |= iba_headers[i].ext;
		length += iba_headers[i].length;
	}
	KUNIT_EXPECT_EQ(test, op->ext, ext);
	KUNIT_EXPECT_EQ(test, op->length, length);
}

static u8 iba_transport(const char *name)
{
	if (iba_has(name, "RC"))
		return WEFT_TRANSPORT_RC;
	if (iba_has(name, "UC"))
		return WEFT_TRANSPORT_UC;
	if (iba_has(name, "UD"))
		return WEFT_TRANSPORT_UD;
	if (iba_has(name, "XRC"))
		return WEFT_TRANSPORT_XRC;
	return WEFT_TRANSPORT_CNP;
}

/* The first of these words that is in the name decides. */
static const struct iba_kind {
	const char	*word;
	u8		kind;
	u8		sqe;
} iba_kinds[] = {
	{ "ATOMIC WRITE",	WEFT_KIND_REQUEST, WEFT_SQE_ATOMIC_WRITE },
	{ "ATOMIC Acknowledge",	WEFT_KIND_ATOMIC_ACK, WEFT_SQE_OPCODES },
	{ "Acknowledge",	WEFT_KIND_ACK, WEFT_SQE_OPCODES },
	{ "SEND",		WEFT_KIND_SEND, WEFT_SQE_SEND },
	{ "WRITE",		WEFT_KIND_WRITE, WEFT_SQE_WRITE },
	{ "READ Request",	WEFT_KIND_REQUEST, WEFT_SQE_READ },
	{ "READ response",	WEFT_KIND_READ_RESPONSE, WEFT_SQE_OPCODES },
	{ "masked CmpSwap",	WEFT_KIND_REQUEST, WEFT_SQE_MASKED_CMP_SWP },
	{ "masked FetchAdd",	WEFT_KIND_REQUEST, WEFT_SQE_MASKED_FETCH_ADD },
	{ "CmpSwap",		WEFT_KIND_REQUEST, WEFT_SQE_CMP_SWP },
	{ "FetchAdd",		WEFT_KIND_REQUEST, WEFT_SQE_FETCH_ADD },
	{ "FLUSH",		WEFT_KIND_REQUEST, WEFT_SQE_FLUSH },
	{ "CNP",		WEFT_KIND_CNP, WEFT_SQE_OPCODES },
	{ "gap map",		WEFT_KIND_ACK, WEFT_SQE_OPCODES },
};

static const struct iba_kind *iba_kind(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(iba_kinds); i++)
		if (iba_has(name, iba_kinds[i].word))
			return &iba_kinds[i];
	return NULL;
}

/* The operation of a send queue that a request belongs to, as far as its name says. */
static u8 iba_sqe(const char *name)
{
	u8 sqe = iba_kind(name)->sqe;

	if (sqe == WEFT_SQE_SEND && iba_has(name, "Immediate"))
		return WEFT_SQE_SEND_IMM;
	if (sqe == WEFT_SQE_SEND && iba_has(name, "Invalidate"))
		return WEFT_SQE_SEND_INV;
	if (sqe == WEFT_SQE_WRITE && iba_has(name, "Immediate"))
		return WEFT_SQE_WRITE_IMM;
	return sqe;
}

static u8 iba_segment(const char *name)
{
	if (iba_has(name, "First"))
		return WEFT_SEGMENT_FIRST;
	if (iba_has(name, "Middle"))
		return WEFT_SEGMENT_MIDDLE;
	if (iba_has(name, "Last"))
		return WEFT_SEGMENT_LAST;
	return WEFT_SEGMENT_ONLY;
}

static u8 iba_payload(const struct iba_row *row)
{
	if (iba_has(row->packet, "PayLd8"))
		return WEFT_PAYLOAD_ATOMIC;
	if (iba_has(row->packet, "PayLd132"))
		return WEFT_PAYLOAD_MAP;
	if (iba_has(row->packet, "PayLd16"))
		return WEFT_PAYLOAD_CNP;
	if (!iba_has(row->packet, "PayLd"))
		return WEFT_PAYLOAD_NONE;
	if (iba_has(row->name, "First") || iba_has(row->name, "Middle"))
		return WEFT_PAYLOAD_FULL;
	if (iba_has(row->name, "Last"))
		return WEFT_PAYLOAD_SOME;
	return WEFT_PAYLOAD_ANY;
}

static u8 iba_flags(const char *name)
{
	u8 flags = WEFT_OPCODE_REQUEST;

	if (iba_has(name, "CNP"))
		return 0;
	if (iba_has(name, "response") || iba_has(name, "Acknowledge") ||
	    iba_has(name, "gap map"))
		return WEFT_OPCODE_RESPONSE;
	if (iba_has(name, "Immediate"))
		flags |= WEFT_OPCODE_RECV;
	if (iba_has(name, "SEND Last") || iba_has(name, "SEND Only"))
		flags |= WEFT_OPCODE_RECV;
	return flags;
}

static void opcode_meaning_matches_iba(struct kunit *test)
{
	const struct iba_row *row = test->param_value;
	const struct weft_opcode *op = weft_opcode(row->opcode);

	KUNIT_EXPECT_EQ(test, op->transport, iba_transport(row->name));
	KUNIT_ASSERT_NOT_NULL(test, iba_kind(row->name));
	KUNIT_EXPECT_EQ(test, op->kind, iba_kind(row->name)->kind);
	KUNIT_EXPECT_EQ(test, op->sqe, iba_sqe(row->name));
	KUNIT_EXPECT_EQ(test, op->segment, iba_segment(row->name));
	KUNIT_EXPECT_EQ(test, op->payload, iba_payload(row));
	KUNIT_EXPECT_EQ(test, op->flags, iba_flags(row->name));
	KUNIT_EXPECT_NOT_NULL(test, op->name);
}

/* Opcodes that are not in the table (reserved, RD, of other manufacturers) are invalid. */
static void opcode_unlisted_is_invalid(struct kunit *test)
{
	const struct weft_opcode *op;
	unsigned int opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		op = weft_opcode(opcode);
		KUNIT_ASSERT_NOT_NULL(test, op);
		KUNIT_EXPECT_EQ_MSG(test, op->kind == WEFT_KIND_INVALID,
				    !iba_find(opcode), "opcode %#x", opcode);
	}
	KUNIT_EXPECT_EQ(test, weft_opcode(WEFT_OPCODE_NONE)->kind,
			WEFT_KIND_INVALID);
}

/* A reserved opcode still has its transport, whose QPs refuse it. */
static void opcode_unlisted_has_a_service(struct kunit *test)
{
	unsigned int opcode;

	for (opcode = 0; opcode < 256; opcode++)
		if (!iba_find(opcode))
			KUNIT_EXPECT_EQ_MSG(test, weft_opcode(opcode)->transport, opcode / 32,
					    "opcode %#x", opcode);
}

/* The length of a prefix like "RC SEND" if the message continues after this packet, else 0. */
static size_t iba_open_message(const char *name)
{
	const char *p = strstr(name, " First");

	if (!p)
		p = strstr(name, " Middle");
	return p ? p - name : 0;
}

static bool iba_follows(const struct iba_row *prev, const struct iba_row *cur)
{
	size_t open = prev ? iba_open_message(prev->name) : 0;
	bool goes_on;

	if (!cur)
		return false;
	goes_on = iba_has(cur->name, "Middle") || iba_has(cur->name, "Last");
	if (!open)
		return !goes_on;
	return goes_on && !strncmp(prev->name, cur->name, open) &&
	       cur->name[open] == ' ';
}

static void opcode_follows_all_pairs(struct kunit *test)
{
	unsigned int prev, cur;

	for (prev = 0; prev < 256; prev++)
		for (cur = 0; cur < 256; cur++)
			if (weft_opcode_follows(prev, cur) !=
			    iba_follows(iba_find(prev), iba_find(cur)))
				KUNIT_FAIL(test, "%#x after %#x", cur, prev);
}

struct payload_row {
	const char	*name;
	u8		opcode;
	u32		payload;
	u32		mtu;
	bool		valid;
};

static const struct payload_row payload_rows[] = {
	{ "first, full", 0x00, 1024, 1024, true },
	{ "first, less", 0x00, 1020, 1024, false },
	{ "first, more", 0x00, 1028, 1024, false },
	{ "first, empty", 0x00, 0, 1024, false },
	{ "first, MTU not known", 0x00, 1020, 0, true },
	{ "first, empty, MTU not known", 0x00, 0, 0, false },
	{ "middle, full", 0x07, 4096, 4096, true },
	{ "middle, less", 0x07, 2048, 4096, false },
	{ "last, one byte", 0x02, 1, 256, true },
	{ "last, full", 0x02, 256, 256, true },
	{ "last, more", 0x02, 257, 256, false },
	{ "last, empty", 0x02, 0, 256, false },
	{ "last, empty, MTU not known", 0x02, 0, 0, false },
	{ "last, MTU not known", 0x02, 4096, 0, true },
	{ "only, empty", 0x04, 0, 256, true },
	{ "only, full", 0x04, 256, 256, true },
	{ "only, more", 0x04, 257, 256, false },
	{ "only, MTU not known", 0x04, 4096, 0, true },
	{ "datagram, more", 0x64, 2049, 2048, false },
	{ "read request, empty", 0x0c, 0, 256, true },
	{ "read request, one byte", 0x0c, 1, 256, false },
	{ "acknowledge, empty", 0x11, 0, 0, true },
	{ "acknowledge, four bytes", 0x11, 4, 0, false },
	{ "masked compare and swap, empty", 0xd3, 0, 256, true },
	{ "masked fetch and add, eight bytes", 0xd4, 8, 256, false },
	{ "flush, one byte", 0x1c, 1, 256, false },
	{ "atomic write, 8", 0x1d, 8, 256, true },
	{ "atomic write, 4", 0x1d, 4, 0, false },
	{ "atomic write, 0", 0x1d, 0, 0, false },
	{ "atomic write, 9", 0x1d, 9, 0, false },
	{ "CNP, 16", 0x81, 16, 0, true },
	{ "CNP, 0", 0x81, 0, 0, false },
};

static void payload_row_desc(const struct payload_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(payload_row, payload_rows, payload_row_desc);

static void opcode_payload_valid_row(struct kunit *test)
{
	const struct payload_row *row = test->param_value;
	const struct weft_opcode *op = weft_opcode(row->opcode);

	KUNIT_EXPECT_EQ(test,
			weft_opcode_payload_valid(op, row->payload, row->mtu),
			row->valid);
}

static struct kunit_case opcode_cases[] = {
	KUNIT_CASE_PARAM(opcode_headers_match_iba, iba_row_gen_params),
	KUNIT_CASE_PARAM(opcode_meaning_matches_iba, iba_row_gen_params),
	KUNIT_CASE(opcode_unlisted_is_invalid),
	KUNIT_CASE(opcode_unlisted_has_a_service),
	KUNIT_CASE(opcode_follows_all_pairs),
	KUNIT_CASE_PARAM(opcode_payload_valid_row, payload_row_gen_params),
	{}
};

static struct kunit_suite opcode_suite = {
	.name = "weft_opcode",
	.test_cases = opcode_cases,
};

kunit_test_suite(opcode_suite);
