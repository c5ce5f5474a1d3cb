// Series between nodes. Program ocean writes; program far reads on another node, through the relay; program near reads
// on the writer's node. Ocean says which reader takes the next burst, puts it, and is told when it has arrived. It
// prints one JSON object for each case with all samples, from which bench/suite_series.py computes the figures.
// usage: COUPLET_HUB=... series_relayed {ocean|near|far} [CASE...]      (far with a COUPLET_NODE of its own)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "bench/series/measure.hpp"

namespace couplet::bench {
namespace {

constexpr std::uint64_t slots = 64;
constexpr std::uint64_t burst = 16;  // steps
constexpr int rounds = 100;
enum class Order : std::int32_t { read, stream, end };  // tells a reader what to do next

couplet_group* group = nullptr;
std::int32_t rank_of(couplet_universe* universe, const char* program) {
  std::int32_t rank = 0;
  must(couplet_universe_find_rank(universe, program, 0, &rank), "find_rank");
  return rank;
}
void tell(std::int32_t rank, std::int32_t word) {
  must(couplet_send(group, &word, 1, COUPLET_INT32, rank, 0), "send");
}
std::int32_t hear(std::int32_t rank) {
  std::int32_t word = 0;
  must(couplet_recv(group, &word, 1, COUPLET_INT32, rank, 0, nullptr), "recv");
  return word;
}

// ---- the limit: the same bytes through one plain TCP connection ----

void set_buffers(int socket) {
  constexpr int bytes = 4 << 20;
  constexpr int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int accept_from(std::int32_t rank) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_buffers(listener);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), bytes) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) {
    give_up("cannot listen");
  }
  tell(rank, ntohs(address.sin_port));
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  return connection;
}

int connect_to(std::int32_t rank) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(hear(rank)));
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_buffers(connection);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    give_up("cannot connect");
  }
  return connection;
}

// ---- the readers ----

void read_bursts(couplet_universe* universe, const char* name, bool streams) {
  const std::int32_t ocean = rank_of(universe, "ocean");
  couplet_series* series = open_series(universe, name, COUPLET_SERIES_HOLD, slots * box_bytes);
  const int connection = streams ? connect_to(ocean) : -1;
  Destinations destinations(slots);
  tell(ocean, 0);
  for (;;) {
    const auto order = static_cast<Order>(hear(ocean));
    if (order == Order::end) {
      break;
    }
    std::byte* out = destinations.next(burst);
    if (order == Order::read) {
      read_series(series, burst, out);
    } else {
      for (std::uint64_t at = 0; at < burst * box_bytes;) {
        const ssize_t count = recv(connection, out + at, burst * box_bytes - at, 0);
        if (count <= 0) {
          give_up("the stream has ended");
        }
        at += static_cast<std::uint64_t>(count);
      }
    }
    tell(ocean, 0);
  }
  if (connection >= 0) {
    close(connection);
  }
  must(couplet_series_close(series), "close");
}

// ---- the writer ----

struct Bursts {
  couplet_series* series;
  std::int32_t reader;  // -1: none
  std::int64_t step = 0;
};

// Returns the seconds of the puts of one burst, or, with `arrived`, the seconds until the reader has it.
double put_burst(Bursts& bursts, std::byte* field, bool arrived) {
  if (bursts.reader >= 0) {
    tell(bursts.reader, static_cast<std::int32_t>(Order::read));
  }
  const double start = seconds();
  for (std::uint64_t number = 0; number < burst; ++number) {
    std::memset(field + (bursts.step % 50) * 4096, static_cast<int>(bursts.step), 4096);  // a small computation
    must(couplet_series_put(bursts.series, field, bursts.step++), "put");
  }
  const double put = seconds() - start;
  if (bursts.reader >= 0) {
    hear(bursts.reader);
  }
  return arrived ? seconds() - start : put;
}

double stream_burst(int connection, std::int32_t reader, const std::byte* boxes) {
  tell(reader, static_cast<std::int32_t>(Order::stream));
  const double start = seconds();
  for (std::uint64_t at = 0; at < burst * box_bytes;) {
    const ssize_t count = send(connection, boxes + at, burst * box_bytes - at, MSG_NOSIGNAL);
    if (count <= 0) {
      give_up("the stream has ended");
    }
    at += static_cast<std::uint64_t>(count);
  }
  hear(reader);
  return seconds() - start;
}

void write_bursts(couplet_universe* universe, const std::set<std::string>& wanted) {
  const auto want = [&](const char* name) { return wanted.empty() || wanted.contains(name); };
  Bursts alone{create_series(universe, "alone", slots), -1};
  Bursts near{create_series(universe, "near", slots), rank_of(universe, "near")};
  Bursts far{create_series(universe, "far", slots), rank_of(universe, "far")};
  const int connection = accept_from(far.reader);
  hear(near.reader);
  hear(far.reader);
  std::byte* field = touched_memory(step_bytes);
  const std::byte* boxes = touched_memory(burst * box_bytes);
  constexpr double ms_a_step = 1e3 / burst;
  const auto sample = [&](const char* name, const std::vector<Method>& methods) {
    Samples samples;
    for (int round = 0; want(name) && round < rounds; ++round) {
      take_round(methods, static_cast<std::size_t>(round), samples);
    }
    if (want(name)) {
      print(name, "ms", samples);
    }
  };
  sample("relay/read", {{"ours", [&] { return ms_a_step * put_burst(far, field, true); }},
                        {"limit_tcp", [&] { return ms_a_step * stream_burst(connection, far.reader, boxes); }},
                        {"mapped_reader", [&] { return ms_a_step * put_burst(near, field, true); }}});
  sample("relay/writer-slowdown", {{"ours", [&] { return ms_a_step * put_burst(far, field, false); }},
                                   {"limit_no_reader", [&] { return ms_a_step * put_burst(alone, field, false); }},
                                   {"mapped_reader", [&] { return ms_a_step * put_burst(near, field, false); }}});
  for (const Bursts& bursts : {alone, near, far}) {
    if (bursts.reader >= 0) {
      tell(bursts.reader, static_cast<std::int32_t>(Order::end));
    }
    must(couplet_series_close(bursts.series), "close");
  }
  close(connection);
}

}  // namespace
}  // namespace couplet::bench

int main(int argc, char** argv) {
  using namespace couplet::bench;
  if (argc < 2) {
    give_up("usage: series_relayed {ocean|near|far} [CASE...]");
  }
  const std::string program = argv[1];
  couplet_universe* universe = join(program.c_str());
  must(couplet_universe_group(universe, &group), "group");
  if (program == "ocean") {
    write_bursts(universe, {argv + 2, argv + argc});
  } else {
    read_bursts(universe, program.c_str(), program == "far");
  }
  must(couplet_leave(universe), "leave");
  return 0;
}
