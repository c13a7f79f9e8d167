// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Races of two actors, or three: one comes to a point in the kernel (pause.h of the driver) and
 * is held there, another one does something else meanwhile, then the first goes on. Nothing
 * may hang, no work request completes twice or in a way that there is not, and all objects
 * can be destroyed; the kernel checks itself.
 *
 * usage: races [-s SEED] [-n CASES] [-2 CASES] [-3 CASES] [-i] [-v] [-p POINT[,POINT]...]
 *		[-a OPERATION] [-b OPERATION]
 *
 * First each operation of the table (races-work.c) is done by itself, to see which points it comes
 * to. A point that none comes to fails the test. Then there is a case for each point and each
 * operation beside it, in an order that the seed decides; -n does so many of them. -2 does so many
 * in which both are held, each at a point of its own, and go on one after the other. -3 does so many
 * in which two are held, and a third one comes. -p, -a (who is held) and -b (who comes) choose; a
 * name matches by its beginning. -i is for InfiniBand: a subnet manager has to run.
 */
#include "races.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>

#define MAX_POINTS	160
#define MAX_CASES	32768
/* an actor that has been asleep for so long waits for another one */
#define BLOCKED_MS	60
/* of 10.77.0.1 */
#define ADDRESS_GID	"0000:0000:0000:0000:0000:ffff:0a4d:0001"
/* how long a point that spins holds who comes there, at most */
#define HOLD_MS		2000

const char * const devices[SIDES] = { "weft0", "weft1" };

/* Points that no operation comes to, and why. */
static const struct {
	const char *name;
	bool infiniband;
	const char *why;
} exempt[] = {
	{ "IB_LID_FOUND", false, "of an InfiniBand port" },
	{ "IB_FAR_END", false, "of an InfiniBand port" },
	{ "IB_RECEIVE", false, "of an InfiniBand port" },
	{ "IB_DETACH", false, "of an InfiniBand port" },
	{ "IB_UNPLUGGED", false, "of an InfiniBand port" },
	{ "GID_FOUND", true, "of RoCE" },
	{ "RAW_BUILT", true, "of RoCE" },
	{ "WQ_CREATED", true, "of RoCE" },
	{ "WQ_MODIFY", true, "of RoCE" },
	{ "RSS_CREATE", true, "of RoCE" },
	{ "RSS_PICKED", true, "of RoCE" },
	{ "STEER_FOUND", true, "of RoCE" },
	{ "STEER_OWNED", true, "of RoCE" },
	{ "STEER_ADDED", true, "of RoCE" },
	{ "STEER_REMOVE", true, "of RoCE" },
	{ "DEVICE_NETDEV_LEAVES", true, "of RoCE: a port of a fabric has no net device of its own" },
	{ "LOCAL_MCAST_DEV", true, "of RoCE: switches make the copies" },
	{ "LOCAL_MCAST_MEMBERS", true, "of RoCE: switches make the copies" },
	{ "REACH_FOUND", true, "of RoCE: switches make the copies" },
};

struct point {
	char name[64];
	int hits, stayed, now;
};

static struct point points[MAX_POINTS];
static int num_points;
static bool reaches[256][MAX_POINTS];

/* who is held where; the last one is not, unless @both are */
struct race {
	int actors;
	int op[ACTORS], point[ACTORS];
	bool both, last_first;	/* and the last one goes on first */
};

static struct race races[MAX_CASES];
static int num_races;

static pid_t side_pid[SIDES];
static int side_status[SIDES];
static uint64_t state;
static bool verbose, infiniband;
static int cases = MAX_CASES, cases_of_both, cases_of_three;
static const char *only_point = "", *only_a = "", *only_b = "";
static int missed, met;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

/*
 * ---- Points ----
 */

static void read_points(void)
{
	FILE *file = fopen(PAUSE, "r");
	struct point *p = points;

	CHECK(file);
	while (fscanf(file, "%63s %d %d %d", p->name, &p->hits, &p->stayed, &p->now) == 4)
		CHECK(++p < points + MAX_POINTS);
	num_points = p - points;
	fclose(file);
}

static void set_point(int point, int ms, int times)
{
	char line[128];

	snprintf(line, sizeof(line), "%s %d %d", points[point].name, ms, times);
	write_text(PAUSE, line);
}

/*
 * ---- Devices ----
 */

static int run(const char *format, ...)
{
	char text[400], command[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "{ %s; } >/dev/null 2>&1", text);
	return system(command);
}

static bool has_address(const char *device, const char *gid)
{
	char path[128], text[64];
	bool found = false;
	FILE *file;
	int i;

	for (i = 0; i < 16 && !found; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/%d", device, i);
		file = fopen(path, "r");
		if (!file)
			return false;
		found = fscanf(file, "%63s", text) == 1 && !strcmp(text, gid);
		fclose(file);
	}
	return found;
}

static bool is_active(const char *device)
{
	char path[128];
	FILE *file;
	int number = 0;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/state", device);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%d", &number) != 1)
		number = 0;
	fclose(file);
	return number == IBV_PORT_ACTIVE;
}

static bool is_usable(const char *device)
{
	return is_active(device) && (infiniband || has_address(device, ADDRESS_GID));
}

static bool is_there(const char *device)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	return !access(path, F_OK);
}

/* As they were, if an operation has changed that. */
static void have_devices(void)
{
	uint64_t end = now_ns() + 3ULL * WAIT_MS * 1000000;
	int i;

	if (access("/sys/class/net/wraces", F_OK))
		run("ip link add wraces type dummy; ip link set wraces up; "
		    "ip addr add 10.77.0.1/24 dev wraces");
	for (i = 0; i < SIDES; i++) {
		while (!is_usable(devices[i])) {
			if (now_ns() > end)
				FAIL("%s: expected an active port%s", devices[i],
				     infiniband ? "" : " with GID " ADDRESS_GID);
			if (!is_there(devices[i]))
				run("rdma link add %s type weft%s netdev wraces", devices[i],
				    infiniband ? "_ib" : "");
			sleep_ms(20);
		}
	}
}

/* A namespace with a net device and a device of ours, which nobody else needs. */
static void have_netns(void)
{
	uint64_t end = now_ns() + 3ULL * WAIT_MS * 1000000;

	while (run("rdma link del weft9; ip netns del wraces; ip netns add wraces && "
		   "ip -n wraces link add wraces9 type dummy && "
		   "ip -n wraces link set wraces9 up && "
		   "ip -n wraces addr add 10.78.0.1/24 dev wraces9 && "
		   "ip netns exec wraces rdma link add weft9 type weft netdev wraces9")) {
		CHECK(now_ns() < end);
		/* the kernel still takes the old one down */
		sleep_ms(20);
	}
}

static void mend_devices(void)
{
	if (sh->needs & HAS_NETNS)
		run("rdma link del weft9; ip netns del wraces");
	if (sh->leaves & MOVES)
		run("ip link set wraces up; ip addr del 10.77.0.2/24 dev wraces; "
		    "ip addr add 10.77.0.1/24 dev wraces");
}

/*
 * ---- Actors ----
 */

/* Return: whether the side is still there */
static bool side_lives(int side)
{
	if (side_pid[side] && waitpid(side_pid[side], &side_status[side], WNOHANG) > 0)
		side_pid[side] = 0;
	return side_pid[side];
}

static void start_actor(struct actor *actor, const struct op *op)
{
	pid_t pid;

	actor->op = op;
	if (op->leaves & KILLS_FAR) {
		kill(side_pid[FAR], SIGKILL);
		return;
	}
	if (op->where != ELSEWHERE) {
		__atomic_store_n(&actor->go, 1, __ATOMIC_SEQ_CST);
		return;
	}
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(op->act());
	actor->pid = pid;
}

static bool is_done(struct actor *actor)
{
	const struct op *op = actor->op;

	if (actor->done)
		return true;
	if (op->leaves & KILLS_FAR)
		actor->done = !side_lives(FAR);
	else if (op->where == ELSEWHERE)
		actor->done = waitpid(actor->pid, NULL, WNOHANG) > 0;
	else if (op->where != AT_NEAR && !side_lives(FAR) && (actor->go || !actor->pid ||
							      kill(actor->pid, 0)))
		actor->done = 1;
	return __atomic_load_n(&actor->done, __ATOMIC_SEQ_CST);
}

static char state_of_task(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state;
}

/* Return: it has been asleep for a while, as far as one can see: it waits for another one */
static bool is_blocked(struct actor *actor)
{
	char task = actor->pid ? state_of_task(actor->pid) : 0;

	if (task != 'S' && task != 'D')
		actor->asleep = 0;
	else if (!actor->asleep)
		actor->asleep = now_ns();
	return actor->asleep && now_ns() - actor->asleep > BLOCKED_MS * 1000000ULL;
}

/* Until it is done, or waits for another one. Return: it is done. */
static bool let_act(struct actor *actor)
{
	uint64_t end = now_ns() + HOLD_MS * 1000000ULL;

	while (!is_done(actor)) {
		if (now_ns() > end || is_blocked(actor))
			return false;
		sleep_ms(2);
	}
	return true;
}

/* @alone: no other actor is held that it could wait for. Return: it has come to the point. */
static bool let_come(struct actor *actor, int point, bool alone)
{
	uint64_t end = now_ns() + HOLD_MS * 1000000ULL, done = 0, now;
	int before = points[point].stayed;

	for (;;) {
		/* first: with one CPU, an actor that spins at the point keeps this process from it */
		now = now_ns();
		read_points();
		if (points[point].stayed > before)
			return true;
		/* what follows by itself may come later */
		if (!done && is_done(actor))
			done = now;
		if (done ? now > done + 100 * 1000000ULL :
			   now > end || (!alone && is_blocked(actor)))
			return false;
		sleep_ms(1);
	}
}

/*
 * ---- Cases ----
 */

static void show_hang(void)
{
	int i;

	for (i = 0; i < ACTORS; i++)
		if (sh->actor[i].op && !is_done(&sh->actor[i]))
			printf("%s does not end\n", sh->actor[i].op->name);
	fflush(stdout);
	write_text("/proc/sysrq-trigger", "w");
}

static void begin(int needs, int leaves, bool together)
{
	int i;

	memset(sh, 0, sizeof(*sh));
	sh->needs = needs;
	sh->leaves = leaves;
	sh->together = together;
	have_devices();
	if (needs & HAS_NETNS)
		have_netns();
	fflush(stdout);
	for (i = 0; i < SIDES; i++) {
		side_status[i] = 0;
		side_pid[i] = fork();
		CHECK(side_pid[i] >= 0);
		if (!side_pid[i])
			be_side(i);
	}
	while (!__atomic_load_n(&sh->ready[NEAR][1], __ATOMIC_SEQ_CST) ||
	       !__atomic_load_n(&sh->ready[FAR][1], __ATOMIC_SEQ_CST)) {
		if (!side_lives(NEAR) || !side_lives(FAR))
			FAIL("a side has ended, with status %#x and %#x", side_status[NEAR],
			     side_status[FAR]);
		sleep_ms(1);
	}
}

static bool all_done(void)
{
	bool done = true;
	int i;

	for (i = 0; i < ACTORS; i++)
		if (sh->actor[i].op)
			done &= is_done(&sh->actor[i]);
	return done;
}

static void await(bool (*what)(void))
{
	uint64_t end = now_ns() + 3ULL * WAIT_MS * 1000000;

	while (!what()) {
		if (now_ns() > end) {
			show_hang();
			FAIL("expected everybody to end");
		}
		sleep_ms(1);
	}
}

static bool sides_gone(void)
{
	bool near = side_lives(NEAR);

	return !side_lives(FAR) && !near;
}

static void end(void)
{
	int i;

	await(all_done);
	__atomic_store_n(&sh->finish, 1, __ATOMIC_SEQ_CST);
	await(sides_gone);
	for (i = 0; i < SIDES; i++) {
		if (i == FAR && sh->leaves & KILLS_FAR && WIFSIGNALED(side_status[i]))
			continue;
		if (side_status[i])
			FAIL("side %d: status %#x", i, side_status[i]);
	}
	mend_devices();
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* @list: separated by commas */
static bool begins_one(const char *name, const char *list)
{
	size_t length = strcspn(list, ",");

	return !strncmp(name, list, length) || (list[length] && begins_one(name, list + length + 1));
}

/* Has the kind of device no such addresses, or no such QPs? */
static bool is_foreign(int op)
{
	return infiniband && (ops[op].leaves & MOVES || ops[op].needs & (HAS_RAW | HAS_NETNS));
}

static bool go_together(int needs, int op)
{
	needs |= ops[op].needs;
	return !(needs & IN_PACKETS && needs & LOCALLY) && !is_foreign(op);
}

static bool posts(int op)
{
	return ops[op].needs & (IN_PACKETS | LOCALLY);
}

/* Does the one remove the device, or its address, that the other one needs to the end? */
static bool takes_device(int a, int b)
{
	const int takes = REMOVES | FAILS | MOVES;

	return (ops[a].leaves & takes && ops[b].needs & STAYS) ||
	       (ops[b].leaves & takes && ops[a].needs & STAYS);
}

/* Objects of the one are nothing to the other, or they spoil each other's posts: no race. */
static bool are_strangers(int a, int b)
{
	if (takes_device(a, b))
		return true;
	if (ops[a].where == ELSEWHERE || ops[b].where == ELSEWHERE)
		return false;
	if (!(ops[a].needs & ops[b].needs & ~(LOCALLY | IN_PACKETS | STAYS)))
		return true;
	return posts(a) && posts(b) && ops[a].where == ops[b].where;
}

/* Find the points that the operation @op leads to. */
static void discover_one(int op)
{
	int before[MAX_POINTS], p;
	struct actor actor = {};

	note("%s alone", ops[op].name);
	read_points();
	for (p = 0; p < num_points; p++)
		before[p] = points[p].hits;
	sh->actor[0] = actor;
	start_actor(&sh->actor[0], &ops[op]);
	await(all_done);
	/* and what follows by itself */
	sleep_ms(20);
	read_points();
	for (p = 0; p < num_points; p++)
		reaches[op][p] = points[p].hits > before[p];
	if (!verbose)
		return;
	printf("%s (%d):", ops[op].name, sh->actor[0].err);
	for (p = 0; p < num_points; p++)
		if (reaches[op][p])
			printf(" %s", points[p].name);
	printf("\n");
}

/* An operation that takes objects from the others comes after them. */
static bool is_last(int op)
{
	return ops[op].leaves & ~DESTROYS;
}

static void discover_some(bool (*wanted)(int op), bool together)
{
	int i, needs = 0;

	for (i = 0; i < num_ops; i++)
		if (wanted(i))
			needs |= ops[i].needs;
	if (together)
		begin(needs, DESTROYS, true);
	for (i = 0; i < num_ops; i++) {
		if (!wanted(i) || !begins(ops[i].name, only_a))
			continue;
		if (!together)
			begin(ops[i].needs, ops[i].leaves, false);
		/* no one stays, but there is counting */
		set_point(0, 1, 0);
		discover_one(i);
		set_point(0, 0, 0);
		if (!together)
			end();
	}
	if (together)
		end();
}

static bool goes_locally(int op)
{
	return !is_last(op) && !(ops[op].needs & (IN_PACKETS | HAS_MONITOR)) && !is_foreign(op);
}

/* while a monitor is up, all messages of the local link take another way */
static bool goes_shown(int op)
{
	return !is_last(op) && !(ops[op].needs & IN_PACKETS) && ops[op].needs & HAS_MONITOR;
}

static bool goes_in_packets(int op)
{
	return !is_last(op) && ops[op].needs & IN_PACKETS;
}

static bool goes_alone(int op)
{
	return is_last(op) && go_together(0, op);
}

/*
 * Most do it on the same objects, in the order of the table: that takes less time. Who finds
 * that an object has been destroyed does not come to all of the points, but others do.
 */
static void discover(void)
{
	read_points();
	discover_some(goes_locally, true);
	discover_some(goes_shown, true);
	discover_some(goes_in_packets, true);
	discover_some(goes_alone, false);
	note(NULL);
}

static const char *why_exempt(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(exempt); i++)
		if (!strcmp(exempt[i].name, name) && exempt[i].infiniband == infiniband)
			return exempt[i].why;
	return NULL;
}

/* Somebody who comes to the point, and whom the other one may race with; or -1. */
static int choose_held(int point, int other, const char *name)
{
	int i, num = 0, chosen = -1;

	for (i = 0; i < num_ops; i++) {
		if (!reaches[i][point] || !begins(ops[i].name, name) ||
		    !go_together(ops[other].needs, i) || are_strangers(i, other))
			continue;
		if (!draw(++num))
			chosen = i;
	}
	return chosen;
}

/* One more is held, at a point of its own. */
static void plan_third(struct race *race)
{
	int i, point = 0, op = -1;

	for (i = 0; i < 20 && op < 0; i++) {
		point = draw(num_points);
		if (point != race->point[0])
			op = choose_held(point, race->op[1], "");
		if (op >= 0 && (!go_together(ops[race->op[0]].needs, op) ||
				takes_device(race->op[0], op)))
			op = -1;
	}
	if (op < 0)
		return;
	race->op[2] = race->op[1];
	race->op[1] = op;
	race->point[1] = point;
	race->actors = 3;
}

/* The last one is held, too, at one of the points that it comes to. */
static void plan_both(struct race *race)
{
	int p, num = 0;

	for (p = 0; p < num_points; p++)
		if (reaches[race->op[1]][p] && p != race->point[0] && !draw(++num))
			race->point[1] = p;
	race->both = num;
	race->last_first = draw(2);
}

static void plan_point(int point)
{
	struct race race;
	int a, b;

	for (b = 0; b < num_ops; b++) {
		if (!begins(ops[b].name, only_b) || !go_together(0, b))
			continue;
		a = choose_held(point, b, only_a);
		if (a < 0)
			continue;
		race = (struct race){ .actors = 2, .op = { a, b }, .point = { point } };
		CHECK(num_races < MAX_CASES);
		races[num_races++] = race;
	}
}

static void check_reached(void)
{
	int p, i, bad = 0;

	for (p = 0; p < num_points; p++) {
		for (i = 0; i < num_ops && !reaches[i][p]; i++)
			;
		if ((i < num_ops) == !why_exempt(points[p].name))
			continue;
		printf("%s: %s\n", points[p].name, i == num_ops ?
		       "expected an operation of the table that comes there" :
		       "expected nobody there, by the list of exempt points");
		bad++;
	}
	if (bad)
		FAIL("%d points", bad);
}

static void plan(void)
{
	struct race race;
	int p, i, k;

	for (p = 0; p < num_points; p++)
		if (begins_one(points[p].name, only_point))
			plan_point(p);
	for (i = num_races - 1; i > 0; i--) {
		k = draw(i + 1);
		race = races[i];
		races[i] = races[k];
		races[k] = race;
	}
}

static void name_race(const struct race *race)
{
	const char *first = ops[race->op[0]].name, *last = ops[race->op[race->actors - 1]].name;

	if (race->both)
		note("%s at %s, %s at %s%s", first, points[race->point[0]].name, last,
		     points[race->point[1]].name, race->last_first ? ", which goes on first" : "");
	else if (race->actors == 2)
		note("%s at %s, %s", first, points[race->point[0]].name, last);
	else
		note("%s at %s, %s at %s, %s", first, points[race->point[0]].name,
		     ops[race->op[1]].name, points[race->point[1]].name, last);
}

static void tell_race(const struct race *race, bool done)
{
	int i;

	if (race->both)
		printf("%s first: ", ops[race->op[race->last_first]].name);
	for (i = 0; i < race->actors - 1; i++)
		printf("%s (%d) at %s, ", ops[race->op[i]].name, sh->actor[i].err,
		       points[race->point[i]].name);
	printf("%s (%d%s)%s%s\n", ops[race->op[i]].name, sh->actor[i].err, done ? "" : ", waits",
	       race->both ? " at " : "", race->both ? points[race->point[i]].name : "");
}

static void run_race(const struct race *race)
{
	int i, needs = 0, leaves = 0, held = race->actors - 1 + race->both, first = race->last_first;
	bool done = true;

	name_race(race);
	for (i = 0; i < race->actors; i++) {
		needs |= ops[race->op[i]].needs;
		leaves |= ops[race->op[i]].leaves;
	}
	begin(needs, leaves, false);
	for (i = 0; i < held; i++) {
		read_points();
		set_point(race->point[i], HOLD_MS, 1);
		start_actor(&sh->actor[i], &ops[race->op[i]]);
		/* the second may well wait for the first, which is held */
		if (let_come(&sh->actor[i], race->point[i], !i))
			met++;
		else if (!i || !race->both)
			missed++;
	}
	if (!race->both) {
		start_actor(&sh->actor[held], &ops[race->op[held]]);
		done = let_act(&sh->actor[held]);
	} else {
		set_point(race->point[first], 0, 0);
		let_act(&sh->actor[first]);
	}
	for (i = 0; i < held; i++)
		set_point(race->point[i], 0, 0);
	await(all_done);
	if (verbose)
		tell_race(race, done);
	end();
	note(NULL);
}

static void read_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "s:n:2:3:ivp:a:b:")) > 0) {
		if (option == 's')
			state = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			cases = atoi(optarg);
		else if (option == '2')
			cases_of_both = atoi(optarg);
		else if (option == '3')
			cases_of_three = atoi(optarg);
		else if (option == 'i')
			infiniband = true;
		else if (option == 'v')
			verbose = true;
		else if (option == 'p')
			only_point = optarg;
		else if (option == 'a')
			only_a = optarg;
		else if (option == 'b')
			only_b = optarg;
		else
			FAIL("see the head of races.c");
	}
}

/* Those of both and of three are made of the last ones, which the others do not get to. */
static void run_races(void)
{
	struct race race;
	int i, last = num_races;

	for (i = 0; i < num_races && i < cases; i++)
		run_race(&races[i]);
	printf("%d of %d cases\n", i, num_races);
	for (i = 0; last && i < cases_of_both; i++) {
		race = races[--last];
		plan_both(&race);
		run_race(&race);
	}
	printf("%d of both\n", i);
	for (i = 0; last && i < cases_of_three; i++) {
		race = races[--last];
		plan_third(&race);
		run_race(&race);
	}
	printf("%d of three\n", i);
}

int main(int argc, char **argv)
{
	uint64_t start = now_ns();

	state = 1;
	read_options(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	have_devices();
	/* providers are loaded, for all processes that follow */
	ibv_free_device_list(ibv_get_device_list(NULL));
	discover();
	printf("%d operations, %d points, %.1f s\n", num_ops, num_points, (now_ns() - start) / 1e9);
	if (!*only_a)
		check_reached();
	plan();
	if (*only_a && !num_races)
		FAIL("expected that %s comes to %s", only_a, only_point);
	run_races();
	printf("points reached %d, not reached %d, %.1f s\n", met, missed,
	       (now_ns() - start) / 1e9);
	/* a hold that comes too late now and then is no failure, but most have to be right */
	if (missed > met)
		FAIL("expected most points to be reached");
	return 0;
}
