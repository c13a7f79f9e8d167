// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A short payload is copied behind the headers, and so is any payload for a net device that takes
 * only packets in one piece. A long one is not copied if the batch allows that: the packet refers
 * to its pages, and pad and ICRC follow in a fragment of their own. Otherwise it is copied into
 * that fragment.
 */
#include "link/packet.h"

#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>

#include "engine/link.h"
#include "engine/lso.h"
#include "object/qp.h"
#include "stats.h"
#include "trace.h"
#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* For a payload shorter than this, copying is cheaper than a fragment. */
#define PACKET_MIN_FRAGMENT	512U
/* Packets of an LSO that are sent with bottom halves off at a time. */
#define PACKET_BATCH		32U
/*
 * Largest buffer cut from the CPU's fragment cache: enough for a payload of 4 KiB. Longer ones
 * would waste much of the cache's pages.
 */
#define PACKET_MAX_HEAD		SKB_WITH_OVERHEAD(2 * PAGE_SIZE)

/* The address of the next bytes. @length is reduced to those of them that are in one page. */
static void *packet_piece(struct weft_iter *payload, u32 *length)
{
	u64 piece;
	void *at = weft_iter_piece(payload, &piece);

	*length = min3(piece, (u64)*length, (u64)(PAGE_SIZE - offset_in_page(at)));
	return at;
}

/* The pages of a dma-buf belong to its exporter, which may reuse them in spite of references. */
static bool packet_must_copy(const struct weft_region *region)
{
	return region && region->pieces && region->kind != WEFT_REGION_FASTREG;
}

/*
 * May a packet refer to the pages of this payload? Not to some of the kernel's memory, such as
 * slabs.
 */
static bool packet_may_hold(struct weft_iter payload, u32 length)
{
	u32 piece, frags = 0;
	void *at;

	/* pages do not have the bytes of the wire */
	if (weft_iter_has_pi(&payload))
		return false;
	for (; length; length -= piece) {
		piece = length;
		at = packet_piece(&payload, &piece);
		if (++frags == MAX_SKB_FRAGS || packet_must_copy(payload.span->region) ||
		    !virt_addr_valid(at) || !sendpage_ok(virt_to_page(at)))
			return false;
		weft_iter_skip(&payload, piece);
	}
	return true;
}

static bool packet_is_referenced(const struct weft_tx_batch *batch, u32 length)
{
	const struct weft_region *region;

	if (!batch->by_reference)
		return false;
	region = batch->payload->span->region;
	/*
	 * a block of a process's memory is a page or more, so one payload is at most three pieces
	 */
	if (region && region->blocks && region->kind == WEFT_REGION_MR &&
	    batch->payload->span->length - batch->payload->offset >= length)
		return true;
	return packet_may_hold(*batch->payload, length);
}

/* Add a fragment; the caller's reference to the page becomes the packet's. */
static void packet_add_page(struct sk_buff *skb, void *at, u32 length)
{
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, virt_to_page(at),
			offset_in_page(at), length, length);
}

static void packet_reference(struct sk_buff *skb, struct weft_iter *payload, u32 length)
{
	u32 piece;
	void *at;

	while (length) {
		piece = length;
		at = packet_piece(payload, &piece);
		get_page(virt_to_page(at));
		packet_add_page(skb, at, piece);
		weft_iter_skip(payload, piece);
		length -= piece;
	}
	/* code that changes bytes, such as IPsec, must copy these pages first */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
}

/* Copy @length bytes of payload to @at, and advance @payload. */
void weft_packet_copy(void *at, struct weft_iter *payload, u32 length)
{
	struct weft_span span = { .addr = (uintptr_t)at, .length = length };
	struct weft_iter to;

	weft_span_iter(&span, &to);
	weft_copy(&to, payload, length);
}

/* Leave @room bytes of headroom, then put the headers. */
static void packet_put_headers(struct sk_buff *skb, const struct weft_hdr *hdr, u32 room)
{
	skb_reserve(skb, room);
	weft_hdr_encode(skb_put(skb, weft_opcode(hdr->opcode)->length), hdr);
}

/*
 * Get memory from the CPU's fragment cache, a chunk of some pages. Since 6.13 a request longer than
 * a page fails if the chunk has too little left, and does not begin a new chunk. A request for a
 * page does begin one, at the first or second try. Bottom halves are off.
 */
void *weft_packet_fragment(u32 size)
{
	void *fragment = napi_alloc_frag_align(size, SMP_CACHE_BYTES);
	void *page;
	int tries;

	for (tries = 0; unlikely(!fragment) && tries < 2; tries++) {
		page = napi_alloc_frag(PAGE_SIZE);
		if (!page)
			return NULL;
		skb_free_frag(page);
		fragment = napi_alloc_frag_align(size, SMP_CACHE_BYTES);
	}
	return fragment;
}

/*
 * Allocate a buffer of @head bytes, and memory for a fragment of @more bytes behind it. Both are a
 * piece of the CPU's fragment cache for soft interrupts, which weft_pkt_free() refills. Unlike
 * memory from kmalloc(), the kernel does not clear it each time (init_on_alloc).
 */
static struct sk_buff *packet_alloc(u32 head, u32 more, void **fragment)
{
	u32 size = SKB_HEAD_ALIGN(head);
	void *buffer = weft_packet_fragment(size + more);
	struct sk_buff *skb;

	if (!buffer)
		return NULL;
	skb = napi_build_skb(buffer, size);
	if (!skb) {
		skb_free_frag(buffer);
		return NULL;
	}
	*fragment = buffer + size;
	return skb;
}

/* A buffer of @head bytes in one piece, or NULL. Bottom halves are off. */
struct sk_buff *weft_packet_alloc(u32 head)
{
	struct sk_buff *skb = NULL;
	void *fragment;

	if (head <= PACKET_MAX_HEAD)
		skb = packet_alloc(head, 0, &fragment);
	return skb ?: alloc_skb(head, GFP_ATOMIC | __GFP_NOWARN);
}

static struct sk_buff *packet_build_short(const struct weft_tx_batch *batch,
					  const struct weft_hdr *hdr, u32 length,
					  u32 room)
{
	u32 head = room + weft_opcode(hdr->opcode)->length;
	u32 trailer = hdr->pad + WEFT_ICRC_LENGTH;
	struct sk_buff *skb = weft_packet_alloc(head + length + trailer);

	if (!skb)
		return NULL;
	packet_put_headers(skb, hdr, room);
	if (length)
		weft_packet_copy(skb_put(skb, length), batch->payload, length);
	skb_put_zero(skb, trailer);
	return skb;
}

/* Return: the packet; NULL: no memory, and nothing has changed. */
static struct sk_buff *packet_build_long(const struct weft_tx_batch *batch,
					 const struct weft_hdr *hdr, u32 length, u32 room)
{
	u32 copied = packet_is_referenced(batch, length) ? 0 : length;
	u32 head = room + weft_opcode(hdr->opcode)->length;
	u32 trailer = hdr->pad + WEFT_ICRC_LENGTH;
	struct sk_buff *skb;
	void *fragment;

	skb = packet_alloc(head, copied + trailer, &fragment);
	if (!skb)
		return NULL;
	packet_put_headers(skb, hdr, room);
	if (copied)
		weft_packet_copy(fragment, batch->payload, copied);
	else
		packet_reference(skb, batch->payload, length);
	memset(fragment + copied, 0, trailer);
	get_page(virt_to_page(fragment));
	packet_add_page(skb, fragment, copied + trailer);
	return skb;
}

/*
 * Make a packet of @batch, with an ICRC of zero and @room bytes of headroom, and advance
 * @batch->payload by @length. @linear: the packet must be in one piece. The turn of @batch->tx is
 * owned, bottom halves are off. Returns NULL without memory; then @batch->payload has not moved.
 */
struct sk_buff *weft_packet_build(const struct weft_tx_batch *batch, const struct weft_hdr *hdr,
				  u32 length, u32 room, bool linear)
{
	struct sk_buff *skb = NULL;

	if (weft_inject_no_memory(batch->qp->dev, batch->qp, WEFT_ALLOC_PACKET))
		return NULL;
	/* weft_ipcsum_fill() needs the payload in one piece */
	if (length >= PACKET_MIN_FRAGMENT && !batch->ip_csum && !linear)
		skb = packet_build_long(batch, hdr, length, room);
	return skb ?: packet_build_short(batch, hdr, length, room);
}

/*
 * Compute and store the ICRC. @skb is from weft_packet_build(), with headers in front, and its BTH
 * at @bth. @crc covers everything up to the end of the BTH, see wire/icrc.c.
 */
void weft_packet_seal(struct sk_buff *skb, const void *bth, u32 crc)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	const u8 *at = bth + sizeof(struct weft_wire_bth);
	u32 length = skb_tail_pointer(skb) - at, i;

	/* the ICRC is at the end of the last piece */
	for (i = 0; i < shared->nr_frags; i++) {
		crc = weft_icrc_update(crc, at, length);
		at = skb_frag_address(&shared->frags[i]);
		length = skb_frag_size(&shared->frags[i]);
	}
	length -= WEFT_ICRC_LENGTH;
	crc = weft_icrc_update(crc, at, length);
	weft_icrc_store((u8 *)at + length, crc);
}

/*
 * Update the headers for packet number @i of a batch. @hdr has those of the packet before, or
 * @batch->hdr. Returns its bytes of payload.
 */
u32 weft_packet_header(const struct weft_tx_batch *batch, u32 i, struct weft_hdr *hdr)
{
	bool last = i + 1 == batch->num;
	u32 length = last ? batch->length - i * batch->mtu : batch->mtu;

	if (i)
		hdr->opcode = last ? batch->last : batch->middle;
	hdr->psn = weft_psn_add(batch->hdr.psn, i);
	hdr->ackreq = last && batch->hdr.ackreq;
	hdr->se = last && batch->hdr.se;
	hdr->pad = -length & 3;
	return length;
}
WEFT_EXPORT_FOR_TEST(weft_packet_header);

/*
 * Count packets @i to @i + @packets of a batch as lost; they are not tried again. @batch->payload
 * is at the first of them, and is advanced. The turn of @batch->tx is owned.
 */
void weft_packet_lost(struct weft_tx_batch *batch, u32 i, u32 packets)
{
	u32 end = i + packets, length;
	struct weft_hdr hdr = batch->hdr;

	for (; i < end; i++) {
		length = weft_packet_header(batch, i, &hdr);
		if (length)
			weft_iter_skip(batch->payload, length);
		trace_weft_drop(&hdr, WEFT_STAT_TX_DROPPED);
	}
	weft_stats_add(batch->qp, WEFT_STAT_TX_DROPPED, packets);
}

/* Describe the packet of a datagram. */
void weft_packet_describe(struct weft_qp *qp, const struct weft_datagram *dgram,
			  struct weft_iter *payload, struct weft_tx_batch *batch)
{
	const struct weft_request *req = &dgram->req;

	*batch = (struct weft_tx_batch){
		.qp = qp,
		.av = dgram->av,
		.tx = &qp->send.tx,
		.hdr = {
			.opcode = WEFT_OPCODE(WEFT_TRANSPORT_UD, req->op->only),
			.se = req->solicited,
			.migreq = true,
			.pkey = dgram->pkey,
			.dqpn = dgram->qpn,
			.psn = qp->send.psn,
			.imm = (__force __be32)req->ex,
			.deth.qkey = dgram->qkey,
			.deth.sqpn = qp->src_qpn,
		},
		.num = 1,
		.mtu = req->length,
		.length = req->length,
		.payload = payload,
		.ip_csum = dgram->ip_csum,
	};
}

static enum weft_verdict packet_send_one(struct weft_qp *qp,
					 u32 (*xmit)(struct weft_tx_batch *batch),
					 struct weft_tx_batch *batch)
{
	u32 sent;

	batch->hdr.psn = qp->send.psn;
	sent = xmit(batch);
	trace_weft_send(qp->qpn, &batch->hdr, batch->num, sent, batch->length);
	if (!sent)
		return WEFT_LATER;
	qp->send.psn = weft_psn_add(qp->send.psn, 1);
	return WEFT_DONE;
}

/*
 * Send an LSO from where it stopped, so that no packet is sent twice. Bottom halves are off for a
 * batch at a time, so the network's soft interrupts run when the batch has left.
 */
static noinline_for_stack enum weft_verdict
packet_send_lso(struct weft_qp *qp, struct weft_datagram *dgram,
		u32 (*xmit)(struct weft_tx_batch *batch))
{
	struct weft_tx_batch batch __uninitialized;
	enum weft_verdict verdict = WEFT_DONE;
	struct weft_slot *slot = dgram->slot;
	struct weft_iter payload;
	struct weft_lso_cut cut;
	u32 i;

	weft_packet_describe(qp, dgram, &payload, &batch);
	weft_lso_begin(&cut, dgram->lso, &qp->send.sgl, slot->done);
	do {
		local_bh_disable();
		for (i = 0; i < PACKET_BATCH && cut.done < cut.length; i++) {
			batch.length = weft_lso_packet(&cut, &payload);
			batch.mtu = batch.length;
			verdict = packet_send_one(qp, xmit, &batch);
			if (verdict != WEFT_DONE)
				break;
			slot->done = weft_lso_sent(&cut);
		}
		local_bh_enable();
		if (verdict != WEFT_DONE || cut.done == cut.length)
			return verdict;
	} while (!dgram->atomic && !weft_turn_stopping(&qp->send.turn));
	return WEFT_STOPPED;
}

/*
 * weft_link.datagram of links with packets: send a UD message as one packet, or an LSO as several,
 * by @xmit (see struct weft_link). The memory is in @qp->send.sgl.
 */
enum weft_verdict weft_packet_datagram(struct weft_qp *qp, struct weft_datagram *dgram,
				       u32 (*xmit)(struct weft_tx_batch *batch))
{
	struct weft_iter payload;
	struct weft_tx_batch batch __uninitialized;

	if (unlikely(dgram->lso))
		return packet_send_lso(qp, dgram, xmit);
	weft_packet_describe(qp, dgram, &payload, &batch);
	weft_sgl_iter(&qp->send.sgl, &payload);
	return packet_send_one(qp, xmit, &batch);
}
