/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the engine needs of a link.
 */
#ifndef WEFT_ENGINE_LINK_H
#define WEFT_ENGINE_LINK_H

#include "engine/message.h"

/**
 * enum weft_outcome - what became of a message
 * @WEFT_OUTCOME_DONE: delivered (reliable), or gone its way (unreliable)
 * @WEFT_OUTCOME_REFUSED: the responder refused it, see @status and @fault
 * @WEFT_OUTCOME_RNR: the responder has no receive work request
 * @WEFT_OUTCOME_LOST: no answer
 * @WEFT_OUTCOME_STOPPED: given up halfway because somebody wants one of the
 *	turns or the task is being killed; to be done again from the start
 */
enum weft_outcome {
	WEFT_OUTCOME_DONE,
	WEFT_OUTCOME_REFUSED,
	WEFT_OUTCOME_RNR,
	WEFT_OUTCOME_LOST,
	WEFT_OUTCOME_STOPPED,
};

/**
 * struct weft_answer - what became of a message
 * @outcome: which
 * @status: REFUSED: status of the work request
 * @fault: REFUSED: why
 * @rnr_timer: RNR: encoded time to wait
 */
struct weft_answer {
	enum weft_outcome	outcome;
	enum ib_wc_status	status;
	enum weft_fault		fault;
	u8			rnr_timer;
};

/**
 * struct weft_link - carries messages
 * @message: carry one to its end. The send turn of @qp is owned; @local is
 *	what it sends from or reads into. May sleep.
 */
struct weft_link {
	void (*message)(struct weft_qp *qp, const struct weft_request *req,
			const struct weft_sgl *local, struct weft_answer *answer);
};

#endif /* WEFT_ENGINE_LINK_H */
