// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The function Toeplitz over the chosen fields, which follow each other as in a packet: addresses,
 * then ports or the SPI.
 */
#include "flow/hash.h"

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define HASH_IPV4	(WEFT_RX_HASH_SRC_IPV4 | WEFT_RX_HASH_DST_IPV4)
#define HASH_IPV6	(WEFT_RX_HASH_SRC_IPV6 | WEFT_RX_HASH_DST_IPV6)
#define HASH_TCP	(WEFT_RX_HASH_SRC_PORT_TCP | WEFT_RX_HASH_DST_PORT_TCP)
#define HASH_UDP	(WEFT_RX_HASH_SRC_PORT_UDP | WEFT_RX_HASH_DST_PORT_UDP)

/* Where a field is in struct weft_flow_layer, if the frame has the header of it. */
struct hash_field {
	u32	field;
	u16	has;
	u8	offset;
	u8	length;
};

#define HASH_FIELD(_field, _has, _member, _length)			\
	{ WEFT_RX_HASH_##_field, WEFT_FLOW_##_has,			\
	  offsetof(struct weft_flow_layer, _member), _length }

static const struct hash_field hash_fields[] = {
	HASH_FIELD(SRC_IPV4, IPV4, src_ip, 4),
	HASH_FIELD(DST_IPV4, IPV4, dst_ip, 4),
	HASH_FIELD(SRC_IPV6, IPV6, src_ip, 16),
	HASH_FIELD(DST_IPV6, IPV6, dst_ip, 16),
	HASH_FIELD(SRC_PORT_TCP, TCP, src_port, 2),
	HASH_FIELD(DST_PORT_TCP, TCP, dst_port, 2),
	HASH_FIELD(SRC_PORT_UDP, UDP, src_port, 2),
	HASH_FIELD(DST_PORT_UDP, UDP, dst_port, 2),
	HASH_FIELD(IPSEC_SPI, ESP, src_port, 4),
};

/* At most these bytes: two addresses of IPv6 and two ports. */
#define HASH_INPUT	36

/* One network protocol and one transport protocol at most, as the verbs say. */
bool weft_flow_hash_is_valid(u64 fields)
{
	const u32 transport = (fields & HASH_TCP ? 1 : 0) + (fields & HASH_UDP ? 1 : 0) +
			      (fields & WEFT_RX_HASH_IPSEC_SPI ? 1 : 0);

	return transport <= 1 && !(fields & HASH_IPV4 && fields & HASH_IPV6);
}

/* XOR of the windows of 32 bits of the key that begin where the input has a bit. */
static u32 hash_toeplitz(const u8 *key, const u8 *input, u32 length)
{
	u64 window = (u32)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];
	u32 hash = 0, i, bit;

	BUILD_BUG_ON(HASH_INPUT + sizeof(u32) > WEFT_RX_HASH_KEY);
	for (i = 0; i < length; i++) {
		window = window << 8 | key[i + sizeof(u32)];
		for (bit = 0; bit < 8; bit++)
			if (input[i] & 0x80 >> bit)
				hash ^= (u32)(window >> (8 - bit));
	}
	return hash;
}

/*
 * The hash is 0 if the frame has not the network protocol of the fields. Without the transport
 * protocol, or in a later fragment, it is that of the addresses.
 */
u32 weft_flow_hash(const struct weft_flow_hash *hash, const struct weft_flow_key *key)
{
	const struct weft_flow_layer *layer = hash->fields & WEFT_RX_HASH_INNER ? &key->inner :
										 &key->outer;
	const struct hash_field *at;
	u8 input[HASH_INPUT];
	u32 length = 0, i;

	for (i = 0; i < ARRAY_SIZE(hash_fields); i++) {
		at = &hash_fields[i];
		if (!(hash->fields & at->field))
			continue;
		if (layer->has & at->has) {
			memcpy(input + length, (const u8 *)layer + at->offset, at->length);
			length += at->length;
		} else if (at->has & (WEFT_FLOW_IPV4 | WEFT_FLOW_IPV6)) {
			return 0;
		}
	}
	return hash_toeplitz(hash->key, input, length);
}
WEFT_EXPORT_FOR_TEST(weft_flow_hash);
