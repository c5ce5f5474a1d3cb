// Series between nodes. Program ocean writes; program far reads on another node, through the relay; program near reads
// on the writer's node. Ocean says which reader takes the next burst, puts it, and is told when it has arrived. It
// prints one JSON object for each case with all samples, from which bench/suite_series.py computes the figures.
// usage: COUPLET_HUB=... series_relayed {ocean|near|far} [CASE...]      (far with a COUPLET_NODE of its own)
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <set>

#include "bench/series/measure.hpp"

namespace couplet::bench {
namespace {

constexpr std::uint64_t slots = 64;
constexpr std::uint64_t burst = 16;  // steps
constexpr int rounds = 100;
enum class Order : std::int32_t { read, stream, pass_on, end };  // tells a reader what to do next

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

// Where ocean and near listen: COUPLET_BENCH_ADDRESS, or this machine.
in_addr listening_address() {
  const char* given = std::getenv("COUPLET_BENCH_ADDRESS");
  in_addr address{};
  if (inet_pton(AF_INET, given == nullptr ? "127.0.0.1" : given, &address) != 1) {
    give_up("COUPLET_BENCH_ADDRESS is no address");
  }
  return address;
}

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
  address.sin_addr = listening_address();
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
  address.sin_addr = listening_address();
  address.sin_port = htons(static_cast<std::uint16_t>(hear(rank)));
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_buffers(connection);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    give_up("cannot connect");
  }
  return connection;
}

void receive_all(int connection, std::byte* out) {
  for (std::uint64_t at = 0; at < burst * box_bytes;) {
    const ssize_t count = recv(connection, out + at, burst * box_bytes - at, 0);
    if (count <= 0) {
      give_up("the stream has ended");
    }
    at += static_cast<std::uint64_t>(count);
  }
}

void send_all(int connection, const std::byte* data, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t count = send(connection, data + at, bytes - at, MSG_NOSIGNAL);
    if (count <= 0) {
      give_up("the stream has ended");
    }
    at += static_cast<std::uint64_t>(count);
  }
}

// ---- the limit of three processes: by hand, without any check ----

// Ocean puts whole fields into shared memory, and near packs the boxes and sends them to far over plain TCP, as soon as
// a field is there.
class HandedOver {
 public:
  HandedOver() : memory_(path(), true) {}
  // Ocean makes the file before it and near map it, and removes the name then.
  static void make() {
    const int file = ::open(path().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || posix_fallocate(file, 0, page_bytes + burst * step_bytes) != 0) {
      give_up("no memory for " + path());
    }
    ::close(file);
  }
  static void forget() { ::unlink(path().c_str()); }

  void put(std::uint64_t number, const std::byte* field) {
    std::memcpy(slot(number), field, step_bytes);
    count().store(static_cast<std::uint32_t>(number + 1), std::memory_order_release);
    if (sleeps().exchange(0) != 0) {
      syscall(SYS_futex, &count(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  }
  void begin() { count().store(0); }
  void pass_on(int connection) {
    constexpr std::int64_t rows = 27;  // about 64 KiB
    std::vector<std::byte> piece(rows * box_extent * 4);
    for (std::uint64_t number = 0; number < burst; ++number) {
      wait_for(number + 1);
      for (std::int64_t row = 0; row < box_extent; row += rows) {
        const std::int64_t packed = std::min(rows, box_extent - row);
        for (std::int64_t index = 0; index < packed; ++index) {
          const std::int64_t first = (box_start + row + index) * extent + box_start;
          std::memcpy(piece.data() + index * box_extent * 4, slot(number) + first * 4, box_extent * 4);
        }
        send_all(connection, piece.data(), static_cast<std::uint64_t>(packed) * box_extent * 4);
      }
    }
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  // Both are started by the same process.
  static std::string path() { return "/dev/shm/couplet-bench-relayed-" + std::to_string(getppid()); }
  std::byte* slot(std::uint64_t number) { return memory_.data() + page_bytes + number * step_bytes; }
  std::atomic<std::uint32_t>& count() { return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory_.data()); }
  std::atomic<std::uint32_t>& sleeps() { return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory_.data() + 64); }
  void wait_for(std::uint64_t wanted) {
    for (std::uint32_t seen = 0; (seen = count().load(std::memory_order_acquire)) < wanted;) {
      sleeps().store(1);
      syscall(SYS_futex, &count(), FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
  }

  SharedMemory memory_;
};

// ---- the readers ----

void read_bursts(couplet_universe* universe, const char* name, bool streams) {
  const std::int32_t ocean = rank_of(universe, "ocean");
  couplet_series* series = open_series(universe, name, COUPLET_SERIES_HOLD, slots * box_bytes);
  const int connection = streams ? connect_to(ocean) : -1;
  // Near is the relay by hand, from which far receives.
  const bool is_far = std::string(name) == "far";
  const int handed = is_far ? connect_to(rank_of(universe, "near")) : accept_from(rank_of(universe, "far"));
  Destinations destinations(slots);
  tell(ocean, 0);
  hear(ocean);  // the memory is there
  HandedOver memory;
  tell(ocean, 0);
  for (;;) {
    const auto order = static_cast<Order>(hear(ocean));
    if (order == Order::end) {
      break;
    }
    if (order == Order::pass_on && !is_far) {
      memory.pass_on(handed);
      continue;
    }
    std::byte* out = destinations.next(burst);
    if (order == Order::read) {
      read_series(series, burst, out);
    } else {
      receive_all(order == Order::stream ? connection : handed, out);
    }
    tell(ocean, 0);
  }
  if (connection >= 0) {
    close(connection);
  }
  close(handed);
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
  send_all(connection, boxes, burst * box_bytes);
  hear(reader);
  return seconds() - start;
}

double hand_over_burst(HandedOver& memory, std::int32_t near, std::int32_t far, std::byte* field) {
  memory.begin();
  tell(near, static_cast<std::int32_t>(Order::pass_on));
  tell(far, static_cast<std::int32_t>(Order::pass_on));
  const double start = seconds();
  for (std::uint64_t number = 0; number < burst; ++number) {
    std::memset(field + (number % 50) * 4096, static_cast<int>(number), 4096);
    memory.put(number, field);
  }
  hear(far);
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
  HandedOver::make();
  HandedOver handed;
  for (const std::int32_t reader : {near.reader, far.reader}) {
    tell(reader, 0);
    hear(reader);
  }
  HandedOver::forget();
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
  sample("relay/read",
         {{"ours", [&] { return ms_a_step * put_burst(far, field, true); }},
          {"limit_tcp", [&] { return ms_a_step * stream_burst(connection, far.reader, boxes); }},
          {"limit_by_hand", [&] { return ms_a_step * hand_over_burst(handed, near.reader, far.reader, field); }},
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
