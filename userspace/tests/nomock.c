// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Instead of mock.c: the tests run against the module itself. */
#include "mock.h"

const bool mock_active;
const char * const mock_address = "10.77.0.1";	/* that of the test machine */
int mock_contexts, mock_regions;
uint64_t mock_memlock;
bool mock_inject;
