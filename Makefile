# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# What can be done with this tree; scripts/ does it. "make help" has the list.

# the kernel to build for and its build tree: by default the running one
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

help:
	@echo 'To try and to test, in virtual machines (as root; demo and demo-ib as any user):'
	@echo '  make demo        weft at work: ping-pong, multicast and bandwidth over it'
	@echo '  make demo-ib     an InfiniBand fabric: opensm, infiniband-diags and IPoIB over weft'
	@echo '  make test        the tests worth running on each change'
	@echo '                   (MINUTES=N: skip what has not begun by then)'
	@echo '  make test-full   every test on every kernel'
	@echo '  make soak        all kinds of traffic for ten minutes, while all that can goes away and'
	@echo '                   comes back (MINUTES=N: for so long)'
	@echo '  make check       the tests of the source alone'
	@echo '  make kunit       the unit tests alone'
	@echo '  make litmus      the barriers, in the memory model of Linux (needs herd7)'
	@echo '  make bench       how fast it is, beside rdma_rxe, TCP and copies, and beside the'
	@echo '                   targets (QUICK=1: within 5 minutes; scripts/bench --list)'
	@echo '                   (one test: scripts/test NAME; any command: scripts/vm)'
	@echo '  make pictures    the drawings of the design as SVG, beside their sources'
	@echo 'To use, on this machine:'
	@echo '  make install     module (with DKMS if it is there), provider, libweft, tools, man pages'
	@echo '  make uninstall'
	@echo '  make package     Debian packages of them: weft-dkms, weft-tools, ibverbs-provider-weft,'
	@echo '                   libweft1, libweft-dev'
	@echo '  make release     source tarball, packages and checksums, of the tag that is checked out'
	@echo '  make modules     weft.ko for KDIR=$(KDIR)'
	@echo '  make provider    the provider for libibverbs, for any rdma-core from 34 to 65'
	@echo '  make clean       remove what was built, here and in the cache'

modules modules_install:
	$(MAKE) -C $(KDIR) M=$(CURDIR) $@

clean:
	if [ -d $(KDIR) ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi
	scripts/clean

provider:
	scripts/build-provider

package release:
	@scripts/$@

install uninstall:
	KVER=$(KVER) KDIR=$(KDIR) scripts/install $@

prepare:
	@scripts/$@

demo demo-ib kunit check pictures: prepare
	@scripts/$@

# 77: herd7 is missing, which the script says
litmus:
	@scripts/litmus || [ $$? = 77 ]

bench: prepare
	@scripts/bench $(if $(QUICK),--quick)

test: prepare
	@scripts/test $(if $(MINUTES),--minutes $(MINUTES))

test-full: prepare
	@scripts/test --full

soak: prepare
	@$(if $(MINUTES),WEFT_MINUTES=$(MINUTES)) scripts/test --full --kernel 6.12 -v soak/

.PHONY: help modules modules_install clean provider package release install uninstall
.PHONY: demo demo-ib prepare test kunit bench check pictures test-full soak
