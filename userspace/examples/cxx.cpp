// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The header from C++. Without arguments this only shows that it compiles and
 * links; with an address it sends one message there.
 */
#include <krmsg.h>
#include <iostream>
#include <memory>
#include <string>

namespace {

struct hangup {
	void operator()(krmsg_sock *sock) const
	{
		krmsg_hangup(sock, 5000);
	}
};

using connection = std::unique_ptr<krmsg_sock, hangup>;

} // namespace

int main(int argc, char **argv)
{
	const std::string text = "hello from C++";
	struct krmsg_sock *sock;

	if (argc < 2) {
		std::cout << "libkrmsg " << KRMSG_VERSION << '\n';
		return krmsg_result_text(0) ? 0 : 1;
	}
	if (krmsg_dial(&sock, argv[1], 5000) < 0) {
		std::cerr << krmsg_error(nullptr) << '\n';
		return 1;
	}
	const connection c(sock);

	if (krmsg_send(sock, text.data(), text.size(), 5000) < 0 ||
	    krmsg_drain(sock, 5000) < 0) {
		std::cerr << krmsg_error(nullptr) << '\n';
		return 1;
	}
	return 0;
}
