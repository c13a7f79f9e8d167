// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Is nothing in progress on a fake link? */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/inflight.h"

static void fake_expect_tx_empty(struct kunit *test, const struct weft_tx *tx)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&tx->queued), 0);
	KUNIT_EXPECT_FALSE(test, tx->stalled);
}

static void fake_expect_node_quiet(struct kunit *test, const struct fake_node *node)
{
	const struct weft_qp *qp = node->qp;

	if (node->region)
		KUNIT_EXPECT_EQ(test, refcount_read(&node->region->refs), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&qp->refs), 1);
	KUNIT_EXPECT_EQ(test, qp->send.turn.bits, 0);
	KUNIT_EXPECT_EQ(test, qp->recv.turn.bits, 0);
	KUNIT_EXPECT_TRUE(test, weft_backlog_is_empty(&qp->send.packets));
	KUNIT_EXPECT_TRUE(test, weft_backlog_is_empty(&qp->recv.packets));
	KUNIT_EXPECT_TRUE(test, weft_early_is_empty(&qp->send.early));
	KUNIT_EXPECT_TRUE(test, weft_early_is_empty(&qp->recv.early));
	KUNIT_EXPECT_EQ(test, atomic_read(&node->dev.early_bytes), 0);
	KUNIT_EXPECT_EQ(test, (int)qp->recv.response.kind, (int)WEFT_RESPONSE_NOTHING);
	KUNIT_EXPECT_FALSE(test, qp->recv.ack_due);
	KUNIT_EXPECT_FALSE(test, weft_send_is_busy(&qp->send));
	KUNIT_EXPECT_EQ(test, qp->send.inflight.una, qp->send.psn);
	KUNIT_EXPECT_EQ(test, qp->send.inflight.next, qp->send.psn);
	KUNIT_EXPECT_EQ(test, qp->send.inflight.sent, qp->send.psn);
	KUNIT_EXPECT_EQ(test, qp->send.inflight.reads, 0);
	fake_expect_tx_empty(test, &qp->send.tx);
	fake_expect_tx_empty(test, &qp->recv.tx);
}

void fake_link_expect_quiet(struct fake_link *link)
{
	u32 i;

	KUNIT_EXPECT_EQ(link->test, atomic_read(&link->alive), 0);
	for (i = 0; i < FAKE_NODES; i++)
		fake_expect_node_quiet(link->test, &link->node[i]);
}
