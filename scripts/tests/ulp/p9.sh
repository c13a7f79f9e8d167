# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# A 9p server of ours, and Linux's client. To be sourced after stock.sh, or wire.sh.
. "$WEFT_TOP/userspace/tests/lib.sh"

# p9_modules: load the modules of both ends, or skip the test
p9_modules()
{
	local m
	for m in 9p 9pnet_rdma; do
		modprobe $m || skip "no $m here"
	done
	modprobe rdma_ucm
}

# p9_serve: serve /srv/p9, a tmpfs, at port 5640
p9_serve()
{
	own_build p9server
	mkdir -p /srv/p9
	mount -t tmpfs none /srv/p9
	defer umount /srv/p9
	start server "$WEFT_BIN/p9server 5640 /srv/p9"
	within 30 is_ready cm:5640
}

# p9_mount ADDRESS: at /mnt/p9
p9_mount()
{
	mkdir -p /mnt/p9
	# shellcheck disable=SC2154 # of stock.sh
	timeout -k 5 60 mount -t 9p -o trans=rdma,port=5640,version=9p2000.L,msize=65536,cache=none,access=any \
		"$1" /mnt/p9 || { cat "$out/server" 2>/dev/null; fail "no mount of $1"; }
	defer umount -l /mnt/p9
}

# p9_served: after the unmount the server ends without an error
p9_served()
{
	must_end server 20
	# shellcheck disable=SC2154 # of must_end
	[ "$job_status" = 0 ] || fail "the server ended with $job_status"
	said server '^[0-9]+ answers'
}
