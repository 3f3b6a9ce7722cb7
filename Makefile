# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# krmsg: kernel module, library and tool. "make help" says what there is.

VERSION := 0.1.0

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
PREFIX ?= /usr/local
DESTDIR ?=

# All that is built goes here; the module into a directory of its kernel, so
# that one checkout serves several.
B ?= build
MB := $(B)/$(KVER)

sources := $(wildcard module/*.[ch] uapi/linux/*.h)
have_headers := $(wildcard $(KDIR)/Makefile)
# What changes when that kernel is configured and built anew.
kernel_files := $(wildcard $(KDIR)/Makefile $(KDIR)/Module.symvers \
		$(KDIR)/include/config/auto.conf)

# Kbuild knows no blanks in paths. Where this one has some, build through a
# link that has none.
ifneq ($(words $(CURDIR)),1)
links := $(or $(KRMSG_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/krmsg)/links
here := $(links)/$(firstword $(shell pwd | sha256sum))
$(shell mkdir -p '$(links)' && ln -sfn "$$PWD" '$(here)')
else
here := $(CURDIR)
endif

.PHONY: all module user demo check check-debug check-long bench bench-icount style install uninstall clean \
	dkms-install dkms-uninstall help mutate vm-stage vm-tests \
	modules_install
.DEFAULT_GOAL := all

##@ building

all: user module ## user space, and the module for the running kernel
	@:

ifneq ($(have_headers),)
module: $(MB)/krmsg.ko ## the module; KVER= or KDIR= choose another kernel
else
module:
	@echo "No kernel headers in $(KDIR)." >&2
	@echo "Install them (Debian: apt-get install linux-headers-$(KVER))," >&2
	@echo "or name others: make module KVER=release or KDIR=directory." >&2
	@exit 1
endif

# Two trees may be of one release. What was built against the other one does
# not fit, and may not even load.
$(MB)/kdir: FORCE
	@mkdir -p $(MB)
	@[ "$$(cat $@ 2>/dev/null)" = '$(KDIR)' ] || { \
		find $(MB) -mindepth 1 -delete && \
		printf '%s\n' '$(KDIR)' >$@; }

# A farm of links, so that objects of two kernels do not meet.
$(MB)/krmsg.ko: Kbuild $(sources) $(kernel_files) $(MB)/kdir
	@mkdir -p $(MB)/module $(MB)/uapi/linux
	@find $(MB) -path $(MB)/tree -prune -o -type l -exec rm -f {} +
	@for f in Kbuild $(sources); do \
		ln -sf "$(here)/$$f" $(MB)/$$f || exit; done
	+$(MAKE) -C $(KDIR) M="$(here)/$(MB)" modules
	@touch $@

user: ## library, tool and manual pages
	+$(MAKE) -C userspace

##@ trying

demo: ## see krmsg at work in a virtual machine, no hardware needed
	@selftests/install-packages
	@selftests/demo

##@ testing

check: ## all tests that fit into 20 minutes
	@selftests/check

check-debug: ## the tests on a debug kernel, and each failure in turn: 30 minutes
	@selftests/check --group debug

check-long: ## more: debug kernel, two machines, soak and fuzzing
	@selftests/check --long

bench: ## krmsg beside perftest, rsockets, RDS and TCP; takes hours on an idle host
	@selftests/install-packages
	@selftests/bench/run --json $(B)/bench/bench.json --svg $(B)/bench

bench-icount: ## instructions of a message, compared with what was recorded
	@selftests/install-packages
	@selftests/bench/bench-icount

style: ## static checks alone
	@selftests/check --group static

mutate: ## break the code on purpose and see that a test notices
	@selftests/install-packages
	@selftests/mutate

##@ installing

srcdir := $(DESTDIR)/usr/src/krmsg-$(VERSION)
moddir = $(DESTDIR)/lib/modules/$(KVER)
etc := $(DESTDIR)/etc

install: all modules_install ## DESTDIR= and PREFIX= are honoured
	+$(MAKE) -C userspace install DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	install -D -m 644 packaging/99-krmsg.rules $(etc)/udev/rules.d/99-krmsg.rules
	install -D -m 644 packaging/krmsg.sysusers.conf $(etc)/sysusers.d/krmsg.conf
	install -D -m 644 packaging/krmsg.modprobe.conf $(etc)/modprobe.d/krmsg.conf
	install -D -m 644 packaging/krmsg.modules-load.conf $(etc)/modules-load.d/krmsg.conf

modules_install: module
	install -D -m 644 $(MB)/krmsg.ko $(moddir)/extra/krmsg.ko
	$(if $(DESTDIR),,depmod $(KVER))

uninstall: ## take away what install put in place
	-+$(MAKE) -C userspace uninstall DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)
	rm -f $(etc)/udev/rules.d/99-krmsg.rules $(etc)/sysusers.d/krmsg.conf \
		$(etc)/modprobe.d/krmsg.conf $(etc)/modules-load.d/krmsg.conf \
		$(moddir)/extra/krmsg.ko
	$(if $(DESTDIR),,-depmod $(KVER))

dkms-install: ## module through DKMS, rebuilt for each new kernel
	mkdir -p $(srcdir)/module $(srcdir)/uapi/linux
	install -m 644 Kbuild packaging/dkms.conf $(srcdir)
	sed -i 's/@VERSION@/$(VERSION)/' $(srcdir)/dkms.conf
	install -m 644 module/*.[ch] $(srcdir)/module
	install -m 644 uapi/linux/*.h $(srcdir)/uapi/linux
	$(if $(DESTDIR),,dkms install krmsg/$(VERSION))

dkms-uninstall: ## undo dkms-install
	$(if $(DESTDIR),,-dkms remove krmsg/$(VERSION) --all)
	rm -rf $(srcdir)

##@ other

clean: ## remove what was built
	rm -rf $(B)

help: ## this text
	@awk 'BEGIN { FS = ":.*## " } \
	      /^##@/ { printf "\n%s\n", substr($$0, 5); next } \
	      /^[a-z_-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' \
	      $(firstword $(MAKEFILE_LIST))

# For selftests/vm/run: what a machine gets, in $(STAGE). MODTREE is the
# unpacked kernel.
vm-stage: $(MB)/tree/stamp user vm-tests
	mkdir -p "$(STAGE)/modules" "$(STAGE)/stage"
	cp -a $(index)/extra $(index)/modules.* "$(STAGE)/modules"
	+$(MAKE) -C userspace install DESTDIR="$(STAGE)/stage" PREFIX=/usr

# The programs that run in the machine are built outside, where it is faster.
vm-tests: user
	+$(MAKE) -C selftests/krmsg
	+$(MAKE) -C selftests/bench
	+$(MAKE) -C selftests/unit ../../build/unit/test_uapi32

index := $(MB)/tree/lib/modules/$(KVER)
newer = $(shell test $(MB)/tree/stamp -nt "$(MODTREE)/lib/modules/$(KVER)/modules.dep" || echo FORCE)
$(MB)/tree/stamp: $(MB)/krmsg.ko $(newer)
	@rm -rf $(MB)/tree
	@mkdir -p $(index)/extra
	ln -s "$(MODTREE)/lib/modules/$(KVER)/kernel" $(index)/kernel
	cp "$(MODTREE)/lib/modules/$(KVER)"/modules.builtin* \
		"$(MODTREE)/lib/modules/$(KVER)"/modules.order $(index)
	cp $(MB)/krmsg.ko $(index)/extra
	depmod -b $(MB)/tree $(KVER)
	@touch $@

FORCE:
