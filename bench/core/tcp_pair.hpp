// Two ends of a connection over tcp in one process, for the benchmarks of this folder.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "link/tcp/tcp_lane.hpp"
#include "os/socket.hpp"

namespace couplet::bench {

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    give_up(result.status().text());
  }
  return std::move(result).value();
}

// Returns the two ends, each with buffers of 4 MB.
inline std::pair<os::Descriptor, os::Descriptor> tcp_pair() {
  const os::SocketOptions options{.buffer_bytes = 4 << 20};
  auto listener = must(link::TcpListener::open(must(os::resolve("127.0.0.1:0")), options));
  auto connector = must(link::TcpConnector::open(listener->endpoint(), nullptr, options));
  Result<os::Descriptor> client(Code::not_yet);
  Result<os::Descriptor> server(Code::not_yet);
  while (!client.ok() || !server.ok()) {
    if (!client.ok()) {
      client = connector->poll();
    }
    if (!server.ok()) {
      server = listener->accept();
    }
  }
  return {std::move(client).value(), std::move(server).value()};
}

}  // namespace couplet::bench
