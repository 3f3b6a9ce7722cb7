// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* krmsg: messages over RDMA from the command line. */
#include <signal.h>
#include "tool.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *text;
} commands[] = {
	{ "cat", cmd_cat, "send standard input to another host" },
	{ "ping", cmd_ping, "measure how long messages take" },
	{ "perf", cmd_perf, "measure latency, message rate or bandwidth" },
	{ "info", cmd_info, "show module, limits and RDMA devices" },
	{ "stat", cmd_stat, "show what contexts do, and totals" },
	{ "inject", cmd_inject, "break connections, for tests" },
	{ "raw", cmd_raw, "talk to rping, rdma_client and rdma_server" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *f)
{
	size_t i;

	fputs("usage: krmsg COMMAND [options]\n"
	      "\n"
	      "Zero-copy messages over RDMA through /dev/krmsg.\n"
	      "\n", f);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(f, "  %-7s %s\n", commands[i].name, commands[i].text);
	fputs("\n"
	      "krmsg COMMAND --help tells more. krmsg --version prints the version.\n"
	      "\n"
	      "Examples:\n"
	      "  krmsg info                        is everything ready?\n"
	      "  krmsg ping -l 7000                on one host,\n"
	      "  krmsg ping 10.0.0.1 7000          on another\n"
	      "  krmsg cat -l 7000 > copy          on one host,\n"
	      "  krmsg cat 10.0.0.1 7000 < file    on another\n"
	      "\n"
	      "Exit status: 0 success, 1 a connection or transfer failed,\n"
	      "2 wrong usage, 3 krmsg cannot be used (no module, no permission).\n",
	      f);
}

int main(int argc, char **argv)
{
	size_t i;

	/* A reader that goes away is reported as a failed write. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		print_help(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		print_help(stdout);
		return STATUS_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("krmsg %s (ABI %d)\n", KRMSG_VERSION,
		       KRMSG_ABI_VERSION);
		return STATUS_OK;
	}
	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	fail("there is no command \"%s\"", argv[1]);
	fputs("Try: krmsg --help\n", stderr);
	return STATUS_USAGE;
}
