# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# An NFS server with RDMA, and clients. To be sourced after lib.sh.
NFSD=/proc/fs/nfsd

# serve: export /srv/nfs over RDMA to any client
serve()
{
	modprobe nfsd
	modprobe rpcrdma
	mountpoint -q $NFSD || mount -t nfsd nfsd $NFSD
	mkdir -p /srv/nfs
	# a tmpfs can be exported
	mount -t tmpfs none /srv/nfs
	defer umount /srv/nfs
	exportfs -o rw,no_root_squash,insecure,fsid=0 '*:/srv/nfs'
	defer exportfs -ua
	rpc.mountd --no-nfs-version 3 --no-udp
	defer pkill -x rpc.mountd
	echo 10 >$NFSD/nfsv4leasetime
	echo 10 >$NFSD/nfsv4gracetime
	start_serving
	defer stop_serving
}

start_serving()
{
	rpc.nfsd --no-udp --no-nfs-version 3 4
	echo rdma 20049 >$NFSD/portlist
}

stop_serving() { rpc.nfsd 0; }

# mount_nfs DIR [VERSION]: each version is a client with its own connections
mount_nfs()
{
	local version=${2-4.2}
	# the debug kernel has no newer client
	[ "$WEFT_KERNEL" != debug ] || version=4.0
	mkdir -p "$1"
	mount -t nfs4 -o "vers=$version,proto=rdma,port=20049,nosharecache" 10.9.0.1:/ "$1"
	defer umount "$1"
}
