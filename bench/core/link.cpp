// Half round trips and streams over raw lanes between two processes, side by side with what the machine can do: a flag
// in a cache line, and a socket. Prints one JSON object on each line. Usage: link [case ...]
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "channel/channel.hpp"
#include "engine/engine.hpp"
#include "link/shm/shm_link.hpp"
#include "link/tcp/tcp_lane.hpp"
#include "os/clock.hpp"
#include "os/directory.hpp"
#include "os/doorbell.hpp"
#include "os/process_page.hpp"
#include "os/socket.hpp"
#include "tcp_pair.hpp"

namespace {

using namespace couplet;
using couplet::bench::give_up;
using couplet::bench::must;
using couplet::bench::tcp_pair;

constexpr int samples = 100;

// Shared by the two processes: the bare flags, and the step at which the processes meet.
struct Shared {
  alignas(64) std::atomic<std::uint64_t> flag[2][8];
  alignas(64) std::atomic<std::uint32_t> steps{0};
};

struct Figures {
  double best = 0;
  double median = 0;
};

Figures figures_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2]};
}

// Gives the core to other programs after a while without work.
class Spinner {
 public:
  void idle() {
    os::pause();
    if (++rounds_ % 256 == 0) {
      ::sched_yield();
    }
  }

 private:
  unsigned rounds_ = 0;
};

// One way to send 8 bytes there and back. The process with `first` sends first.
using RoundTrips = std::function<void(bool first, int count)>;
// One way to move `count` messages from the first process to the second, with an answer at the end.
struct Contest {
  std::string name;
  std::string unit;
  int count;
  // Converts the ns of a sample into the unit: scale is divided by it (a rate) or multiplied with it (a time).
  double scale;
  bool rate;
  RoundTrips ours;
  RoundTrips limit;
};

void print(const Contest& contest, const std::vector<double>& ours, const std::vector<double>& limit) {
  std::vector<double> ratios;
  for (std::size_t index = 0; index < ours.size(); ++index) {
    ratios.push_back(ours[index] / limit[index]);
  }
  auto convert = [&](double ns) { return contest.rate ? contest.scale / ns : ns * contest.scale; };
  const Figures our = figures_of(ours);
  const Figures their = figures_of(limit);
  const double ratio = figures_of(ratios).median;
  std::printf(
      "{\"bench\": \"link\", \"case\": \"%s\", \"unit\": \"%s\", \"ours\": {\"best\": %.4g, \"median\": %.4g}, "
      "\"limit\": {\"best\": %.4g, \"median\": %.4g}, \"ratio\": {\"limit\": %.3g}}\n",
      contest.name.c_str(), contest.unit.c_str(), convert(our.best), convert(our.median), convert(their.best),
      convert(their.median), contest.rate ? 1 / ratio : ratio);
  std::fflush(stdout);
}

void run(const Contest& contest, bool first, int sample_count) {
  std::vector<double> ours;
  std::vector<double> limit;
  contest.ours(first, contest.count);
  contest.limit(first, contest.count);
  for (int sample = 0; sample < sample_count; ++sample) {
    const std::uint64_t start = os::now_ns();
    contest.ours(first, contest.count);
    const std::uint64_t middle = os::now_ns();
    contest.limit(first, contest.count);
    const std::uint64_t end = os::now_ns();
    ours.push_back(static_cast<double>(middle - start));
    limit.push_back(static_cast<double>(end - middle));
  }
  if (first) {
    print(contest, ours, limit);
  }
}

class Taker final : public link::FrameReceiver {
 public:
  std::byte* place(const wire::FrameHeader&) override { return target.data(); }
  bool arrived(const wire::FrameHeader&, std::span<const std::byte>) override {
    ++frames;
    return true;
  }
  std::uint64_t frames = 0;
  std::vector<std::byte> target = std::vector<std::byte>(1U << 22U);
};

// Polls for frame number `wanted`.
void take(link::Lane& lane, Taker& taker, std::uint64_t wanted) {
  Spinner spinner;
  while (taker.frames < wanted) {
    const int frames = lane.poll(taker, 16);
    if (frames < 0) {
      give_up(lane.failure().text());
    }
    if (frames == 0) {
      spinner.idle();
    }
  }
}

void give(link::Lane& lane, Taker& taker, std::span<const std::byte> payload) {
  wire::FrameHeader header;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  std::uint64_t taken = 0;
  Spinner spinner;
  while (taken < wire::frame_header_bytes + payload.size()) {
    const std::int64_t answer = lane.push(header, payload, taken);
    if (answer < 0) {
      give_up(lane.failure().text());
    }
    taken += static_cast<std::uint64_t>(answer);
    if (answer == 0 && lane.poll(taker, 16) < 0) {
      give_up(lane.failure().text());
    }
    if (answer == 0) {
      spinner.idle();
    }
  }
}

RoundTrips lane_round_trips(link::Lane& lane, Taker& taker) {
  return [&lane, &taker](bool first, int count) {
    std::uint64_t value = 0;
    const auto payload = std::as_bytes(std::span(&value, 1));
    for (int trip = 0; trip < count; ++trip) {
      ++value;
      if (first) {
        give(lane, taker, payload);
      }
      take(lane, taker, taker.frames + 1);
      if (!first) {
        give(lane, taker, payload);
      }
    }
  };
}

RoundTrips flag_round_trips(Shared& shared) {
  return [&shared, number = std::uint64_t{0}](bool first, int count) mutable {
    auto& out = shared.flag[first ? 0 : 1];
    auto& in = shared.flag[first ? 1 : 0];
    for (int trip = 0; trip < count; ++trip) {
      ++number;
      if (first) {
        out[1].store(number * 3, std::memory_order_relaxed);
        out[0].store(number, std::memory_order_release);
      }
      Spinner spinner;
      while (in[0].load(std::memory_order_acquire) != number) {
        spinner.idle();
      }
      static_cast<void>(in[1].load(std::memory_order_relaxed));
      if (!first) {
        out[1].store(number * 3, std::memory_order_relaxed);
        out[0].store(number, std::memory_order_release);
      }
    }
  };
}

RoundTrips lane_stream(link::Lane& lane, Taker& taker, std::size_t bytes) {
  return [&lane, &taker, payload = std::vector<std::byte>(bytes, std::byte{3})](bool first, int count) {
    std::uint64_t wanted = taker.frames;  // the next stream begins only after our answer
    for (int message = 0; message < count; ++message) {
      if (first) {
        give(lane, taker, payload);
      } else {
        take(lane, taker, ++wanted);
      }
    }
    if (first) {
      take(lane, taker, ++wanted);
    } else {
      give(lane, taker, {});
    }
  };
}

// Measures what one process can do alone.
RoundTrips copies(std::size_t bytes) {
  return [bytes, from = std::vector<std::byte>(bytes, std::byte{3}), to = std::vector<std::byte>(bytes)](
             bool, int count) mutable {
    for (int message = 0; message < count; ++message) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" : : "r"(to.data()) : "memory");
    }
  };
}

void send_all(const os::Descriptor& socket, const std::byte* data, std::size_t bytes) {
  Spinner spinner;
  while (bytes > 0) {
    const auto sent = os::send_some(socket, data, bytes);
    if (sent.ok()) {
      data += *sent;
      bytes -= *sent;
    } else if (sent.code() != Code::not_yet) {
      give_up(sent.status().text());
    } else {
      spinner.idle();
    }
  }
}

void receive_all(const os::Descriptor& socket, std::byte* data, std::size_t bytes) {
  Spinner spinner;
  while (bytes > 0) {
    const auto received = os::receive_some(socket, data, bytes);
    if (received.ok()) {
      data += *received;
      bytes -= *received;
    } else if (received.code() != Code::not_yet) {
      give_up(received.status().text());
    } else {
      spinner.idle();
    }
  }
}

RoundTrips socket_round_trips(const os::Descriptor& socket) {
  return [&socket](bool first, int count) {
    std::byte value[8] = {};
    for (int trip = 0; trip < count; ++trip) {
      if (first) {
        send_all(socket, value, sizeof value);
      }
      receive_all(socket, value, sizeof value);
      if (!first) {
        send_all(socket, value, sizeof value);
      }
    }
  };
}

RoundTrips socket_stream(const os::Descriptor& socket, std::size_t bytes) {
  return [&socket, bytes, buffer = std::vector<std::byte>(bytes)](bool first, int count) mutable {
    for (int message = 0; message < count; ++message) {
      if (first) {
        send_all(socket, buffer.data(), bytes);
      } else {
        receive_all(socket, buffer.data(), bytes);
      }
    }
    if (first) {
      receive_all(socket, buffer.data(), 1);
    } else {
      send_all(socket, buffer.data(), 1);
    }
  };
}

// A channel and the engine on top of it, which the layers above use.
class Counter final : public channel::FrameHandler {
 public:
  std::byte* place(channel::Channel&, const wire::FrameHeader&) override {
    return reinterpret_cast<std::byte*>(&value);
  }
  Status arrived(channel::Channel&, const wire::FrameHeader&, std::span<const std::byte>) override {
    ++frames;
    return {};
  }
  void lost(channel::Channel&, const Status& why) override { give_up(why.text()); }
  std::uint64_t frames = 0;
  std::uint64_t value = 0;
};

class ChannelSource final : public engine::Source {
 public:
  explicit ChannelSource(channel::Channel& channel) : channel_(channel) {}
  int poll(std::uint64_t, int budget) override { return channel_.poll(budget); }
  [[nodiscard]] bool ready() const override { return channel_.ready(); }

 private:
  channel::Channel& channel_;
};

RoundTrips channel_round_trips(channel::Channel& channel, Counter& counter, engine::Engine& engine,
                               ChannelSource& source) {
  return [&](bool first, int count) {
    std::uint64_t value = 0;
    const auto payload = std::as_bytes(std::span(&value, 1));
    auto send = [&] {
      wire::FrameHeader header;
      header.kind = wire::frame_kind(wire::FrameFamily::message, 1);
      while (!channel.try_send(header, payload)) {
        channel.poll(16);
      }
    };
    for (int trip = 0; trip < count; ++trip) {
      ++value;
      if (first) {
        send();
      }
      const std::uint64_t wanted = counter.frames + 1;
      const Status waited = engine.wait([&] { return counter.frames >= wanted; }, os::never,
                                        [] { return std::string("an answer"); }, &source);
      if (!waited.ok()) {
        give_up(waited.text());
      }
      if (!first) {
        send();
      }
    }
  };
}

struct Side {
  bool first;
  Shared& shared;
  std::string directory;
  os::Descriptor raw;
  os::Descriptor socket;
  std::vector<std::string> wanted;

  [[nodiscard]] bool wants(const std::string& name) const {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  }
  // Both processes call this before they go on.
  void meet() {
    const std::uint32_t goal = shared.steps.fetch_add(1) / 2 * 2 + 2;
    while (shared.steps.load() < goal) {
      ::usleep(100);
    }
  }
};

std::unique_ptr<link::Lane> shm_lane(Side& side, const os::ProcessPage& page, std::uint32_t peers_before) {
  static_cast<void>(page);
  static_cast<void>(peers_before);
  const std::uint32_t own = side.first ? 0 : 1;
  const link::ShmPeer self{.peer = own, .incarnation = 1, .memory_nonce = own + 7};
  const link::ShmPeer peer{.peer = 1 - own, .incarnation = 1, .memory_nonce = 1 - own + 7};
  auto link = must(link::ShmLink::open(side.directory, self));
  auto lane = side.first ? link->connect(peer) : Result<std::unique_ptr<link::Lane>>(Code::not_yet);
  side.meet();
  if (!side.first) {
    lane = link->accept(peer);
  }
  side.meet();
  return must(std::move(lane));
}

void shm_cases(Side& side) {
  os::PageOwner owner;
  owner.peer = side.first ? 0 : 1;
  owner.incarnation = 1;
  owner.memory_nonce = owner.peer + 7;
  owner.rank_count = 2;
  auto page = must(os::ProcessPage::create(side.directory, owner));
  auto doorbell = must(os::Doorbell::open(os::bell_path(side.directory, owner.peer), page->sleep_flag()));
  side.meet();
  auto lane = shm_lane(side, *page, 0);
  Taker taker;
  const auto flags = flag_round_trips(side.shared);
  constexpr int trips = 1000;
  constexpr double half_us = 1e-3 / (2.0 * trips);
  if (side.wants("shm/8B")) {
    run({"shm/8B", "us", trips, half_us, false, lane_round_trips(*lane, taker), flags}, side.first, samples);
  }
  for (const std::size_t bytes : {std::size_t{128}, std::size_t{4096}, std::size_t{65536}, std::size_t{1} << 20U}) {
    const std::string name = "shm/" + std::to_string(bytes) + "B stream";
    if (side.wants(name) || side.wants("shm/stream")) {
      const int count = static_cast<int>((std::size_t{8} << 20U) / std::max<std::size_t>(bytes, 4096));
      const double gigabytes = static_cast<double>(bytes) * count;
      run({name, "GB/s", count, gigabytes, true, lane_stream(*lane, taker, bytes), copies(bytes)}, side.first, 40);
    }
  }
  if (side.wants("channel/8B")) {
    Counter counter;
    channel::Handlers handlers{};
    handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &counter;
    channel::Channel channel(0, "the other side", handlers);
    channel.attach(std::move(lane));
    engine::Engine engine(*doorbell, {.spin_ns = 1'000'000'000, .yield_ns = 0});
    ChannelSource source(channel);
    engine.add(source, engine::Rate::often);
    run({"channel/8B", "us", trips, half_us, false, channel_round_trips(channel, counter, engine, source), flags},
        side.first, samples);
    side.meet();
  }
  side.meet();
}

void tcp_cases(Side& side) {
  constexpr int trips = 200;
  constexpr double half_us = 1e-3 / (2.0 * trips);
  Taker taker;
  auto lane = must(link::make_tcp_lane(std::move(side.socket)));
  if (side.wants("tcp/8B")) {
    run({"tcp/8B", "us", trips, half_us, false, lane_round_trips(*lane, taker), socket_round_trips(side.raw)},
        side.first, samples);
  }
  for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1} << 20U}) {
    const std::string name = "tcp/" + std::to_string(bytes) + "B stream";
    if (side.wants(name) || side.wants("tcp/stream")) {
      const int count = static_cast<int>((std::size_t{32} << 20U) / bytes);
      run({name, "GB/s", count, static_cast<double>(bytes) * count, true, lane_stream(*lane, taker, bytes),
           socket_stream(side.raw, bytes)},
          side.first, 30);
    }
  }
  side.meet();
}

}  // namespace

int main(int argc, char** argv) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    give_up("no shared memory");
  }
  auto* const shared = new (memory) Shared;
  const std::string directory = os::temporary_name("/dev/shm", "couplet-bench");
  if (const Status made = os::make_private_directory(directory); !made.ok()) {
    give_up(made.text());
  }
  auto [raw_client, raw_server] = tcp_pair();
  auto [client, server] = tcp_pair();
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  // A forked child gives up what its parent owns, but plain numbers stay valid.
  const int child_raw = ::dup(raw_server.number());
  const int child_socket = ::dup(server.number());
  raw_server.close();
  server.close();
  const pid_t child = ::fork();
  if (child == 0) {
    Side side{false, *shared, directory, os::Descriptor(child_raw), os::Descriptor(child_socket), wanted};
    shm_cases(side);
    tcp_cases(side);
    ::_exit(0);
  }
  ::close(child_raw);
  ::close(child_socket);
  Side side{true, *shared, directory, std::move(raw_client), std::move(client), wanted};
  shm_cases(side);
  tcp_cases(side);
  int status = 0;
  ::waitpid(child, &status, 0);
  static_cast<void>(os::remove_directory(directory));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
