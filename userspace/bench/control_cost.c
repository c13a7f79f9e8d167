// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * control_cost - what it costs to make and to remove an object of verbs
 *
 * usage: control_cost DEVICE OPERATION SIZE ITERATIONS
 *
 * OPERATION: qp (an RC QP with 64 work requests each way), mr (a region of SIZE
 * bytes), or pin: what stands for pinning alone. That is io_uring's registration of
 * a buffer, which pins the same memory for as long, keeps a list of its pages, and
 * does nothing else. SIZE is at most 1 GiB for it. Huge pages are not used.
 * Prints "OPERATION,SIZE,MIN,MEDIAN" as verbs_cost does, of both together.
 */
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cost.h"
#include "rdma.h"

static struct device device;
static struct end end = { .device = &device };
static uint64_t size;
static void *memory;
static int ring;

static void one_qp(void)
{
	create_qp(&end);
	if (ibv_destroy_qp(end.qp))
		die("ibv_destroy_qp");
}

static void one_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(device.pd, memory, size,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	if (!mr)
		die("ibv_reg_mr");
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
}

static void one_pin(void)
{
	struct iovec iov = { memory, size };

	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &iov, 1))
		die("IORING_REGISTER_BUFFERS");
	if (syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0))
		die("IORING_UNREGISTER_BUFFERS");
}

static void get_memory(void)
{
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("memory");
	if (madvise(memory, size, MADV_NOHUGEPAGE))
		die("MADV_NOHUGEPAGE");
	memset(memory, 1, size);
}

static void open_ring(void)
{
	struct io_uring_params params = {};

	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		die("io_uring_setup");
}

int main(int argc, char **argv)
{
	void (*one)(void);

	if (argc != 5) {
		fprintf(stderr, "usage: control_cost DEVICE qp|mr|pin SIZE ITERATIONS\n");
		return 2;
	}
	size = strtoull(argv[3], NULL, 0);
	if (size)
		get_memory();
	if (!strcmp(argv[2], "pin")) {
		one = one_pin;
		open_ring();
	} else {
		one = strcmp(argv[2], "qp") ? one_mr : one_qp;
		open_device(&device, argv[1], 0);
	}
	measure(argv[2], size, atoi(argv[4]), NULL, one);
	return 0;
}
