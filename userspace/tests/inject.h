/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Injection rules: inject.c has the cases, inject-packets.c those about packets, inject-matches.c
 * those about what matches, inject-receive.c those about receives, inject-device.c those about the
 * device, inject-posts.c those about posts, inject-random.c rules without a purpose, and inject-more.c others.
 */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

#include "lib.h"

const char *device_name(void);
/* a line for the file, behind the name of the device; it has to be taken */
__attribute__((format(printf, 1, 2))) void rule(const char *format, ...);
/* a line like those, which is refused as invalid, for this reason */
void refused(const char *text, const char *why);
/* the same by another errno */
void refused_as(const char *text, const char *why, int error);
/* a message of three packets, whose data is checked */
void send_three(struct end *from, struct end *to, int id);
/* both go, after all rules; after force_packets(true) unmake_wire() */
void unmake_both(struct end *one, struct end *other);
void unmake_wire(struct end *one, struct end *other);
/* how often the only rule has fired */
long fired(void);

void lost_packets(void);
void lost_retries(void);
void twice_and_late(void);
void bad_data(void);
void each_nak(void);
void refused_requests(void);
void held_packets(void);
void changed_fields(void);
void peers_and_times(void);
void leaving_packets(void);
void port_down(void);
void request_opcodes(void);
void packet_opcodes(void);
void packet_matches(void);
void unreliable_matches(void);
void xrc_matches(void);
void message_matches(void);
void random_rules(void);
void solicited_and_asked(void);
void changed_datagrams(void);
void marked_packets(void);

void received_statuses(void);
void unreliable_receives(void);
void matched_receives(void);
void srq_receives(void);
void xrc_receives(void);
void xrc_broken_messages(void);
void refused_receives(void);

void device_fatal(void);
void fatal_races(void);
void refused_fatals(void);
void wq_fatal_event(void);
void speed_event(void);

void refused_xrc_posts(void);
void refused_tag_posts(void);
void refused_imported_posts(void);
void refused_forked_posts(void);
void removed_posts(void);

void rarer_verbs(void);
void raw_verbs(void);
void refused_posts(void);
void answered_by_cnps(void);
void changed_bth(void);
void refused_cnps(void);
void late_completions(void);
void many_late_completions(void);
void late_and_full(void);
void too_many_held(void);
void no_packet(void);
void slow_links(void);
void messages(void);
void port_flaps(void);
void waiting_figures(void);
void named_rules(void);

#endif /* TESTS_INJECT_H */
