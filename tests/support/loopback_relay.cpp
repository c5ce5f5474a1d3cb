#include "support/loopback_relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.hpp"
#include "os/clock.hpp"

namespace couplet::testing {
namespace {

constexpr int tick_ms = 100;
constexpr auto relay_family = static_cast<std::size_t>(wire::FrameFamily::relay);

channel::Handlers handlers_of(channel::FrameHandler& handler) {
  channel::Handlers handlers{};
  handlers[relay_family] = &handler;
  return handlers;
}

pollfd poll_entry(const channel::Channel& channel) {
  const auto& lane = *channel.lanes().front();
  return {lane.descriptor(), static_cast<short>(lane.want_write() ? POLLIN | POLLOUT : POLLIN), 0};
}

}  // namespace

// ---- the relay ----

LoopbackRelay::LoopbackRelay(const SeriesWorld& world, relay::ServerOptions options)
    : environment_(world, peer, "relay"), bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  auto server = relay::Server::open(*this, options);
  COUPLET_ASSERT(server.ok());
  server_ = std::move(server).value();
  dispatch_ = std::make_unique<relay::Dispatch>(server_.get(), nullptr);
  thread_ = std::thread([this] { run(); });
}

LoopbackRelay::~LoopbackRelay() {
  die();
}

void LoopbackRelay::die() {
  if (thread_.joinable()) {
    stop_ = true;
    wake();
    thread_.join();
    channels_.clear();
    server_.reset();
    environment_.die();
  }
}

void LoopbackRelay::wake() {
  const std::uint64_t one = 1;
  COUPLET_ASSERT(::write(bell_.number(), &one, sizeof one) == sizeof one);
}

std::unique_ptr<link::Lane> LoopbackRelay::connect(channel::PeerId reader) {
  std::array<int, 2> ends{};
  COUPLET_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  auto mine = link::make_tcp_lane(os::Descriptor(ends[0]));
  auto theirs = link::make_tcp_lane(os::Descriptor(ends[1]));
  COUPLET_ASSERT(mine.ok() && theirs.ok());
  {
    const std::lock_guard lock(mutex_);
    new_.emplace_back(reader, std::move(mine).value());
  }
  wake();
  return std::move(theirs).value();
}

void LoopbackRelay::take_new() {
  const std::lock_guard lock(mutex_);
  for (auto& [reader, lane] : new_) {
    channels_.push_back(
        std::make_unique<channel::Channel>(reader, fmt::format("peer {}", reader), handlers_of(*dispatch_)));
    channels_.back()->attach(std::move(lane));
  }
  new_.clear();
}

void LoopbackRelay::run() {
  std::uint64_t next_tick_ns = 0;
  while (!stop_) {
    take_new();
    int work = server_->poll(64);
    for (const auto& channel : channels_) {
      work += channel->poll(64);
    }
    std::erase_if(channels_, [](const auto& channel) { return channel->settled(); });
    pushed_steps_ = server_->pushed().steps;
    if (os::now_ns() >= next_tick_ns) {
      server_->tick();
      next_tick_ns = os::now_ns() + tick_ms * 1'000'000;
    }
    const bool ready = std::any_of(channels_.begin(), channels_.end(), [](const auto& each) { return each->ready(); });
    if (work > 0 || ready || server_->ready()) {
      continue;
    }
    std::vector<pollfd> polled = {{bell_.number(), POLLIN, 0}, {server_->descriptor(), POLLIN, 0}};
    for (const auto& channel : channels_) {
      polled.push_back(poll_entry(*channel));
    }
    ::poll(polled.data(), polled.size(), tick_ms);
    std::uint64_t rung = 0;
    static_cast<void>(!::read(bell_.number(), &rung, sizeof rung));
  }
}

// ---- a reader on another node ----

RemoteEnvironment::RemoteEnvironment(const SeriesWorld& world, channel::PeerId self, std::string program,
                                     FindRelay relay, const relay::RemoteOptions& options)
    : FakeEnvironment(world, self, std::move(program)),
      find_relay_(std::move(relay)),
      register_(world.directory(), self, FakeEnvironment::program(),
                [this](channel::PeerId other) { return alive(other, 0).ok(); }) {
  node_number = 1;
  remote_ = std::make_unique<relay::Remote>(*this, static_cast<message::Channels&>(*this), options);
  dispatch_ = std::make_unique<relay::Dispatch>(nullptr, remote_.get());
}

RemoteEnvironment::~RemoteEnvironment() {
  for (const auto& channel : channels_) {  // what was sent last arrives
    channel->shut();
    for (int round = 0; round < 100 && !channel->settled() && channel->sending(); ++round) {
      channel->poll(64);
    }
  }
  channels_.clear();
}

std::string RemoteEnvironment::peer_name(channel::PeerId id) const {
  return id == LoopbackRelay::peer ? "the relay" : FakeEnvironment::peer_name(id);
}

Result<channel::Channel*> RemoteEnvironment::channel_to(channel::PeerId peer) {
  const auto relay = find_relay_();
  if (!relay) {
    return fail(Code::peer_lost, "the relay is gone");
  }
  if (relay != relay_ || channels_.empty()) {
    relay_ = relay;
    channels_.push_back(std::make_unique<channel::Channel>(peer, "the relay", handlers_of(*dispatch_)));
    channels_.back()->attach(relay->connect(self()));
  }
  return channels_.back().get();
}

Result<std::unique_ptr<series::Part>> RemoteEnvironment::open_part(const universe::SeriesRecord& record,
                                                                   std::size_t part,
                                                                   const series::PartSelection& selection,
                                                                   std::uint64_t deadline_ns) {
  return remote_->open_part(record, part, selection, deadline_ns);
}

Status RemoteEnvironment::wait(const std::function<bool()>& done, std::uint64_t until_ns) {
  while (!done() && os::now_ns() < until_ns) {
    int work = 0;
    std::vector<pollfd> polled;
    for (const auto& channel : channels_) {
      work += channel->poll(64);
      if (!channel->settled()) {
        polled.push_back(poll_entry(*channel));
      }
    }
    const std::uint64_t now = os::now_ns();
    if (work == 0 && !done() && now < until_ns) {
      ::poll(polled.data(), polled.size(),
             static_cast<int>(std::min<std::uint64_t>(until_ns - now, 50'000'000) / 1'000'000));
    }
  }
  return {};
}

Result<std::uint64_t> RemoteEnvironment::between_slices() {
  for (const auto& channel : channels_) {
    channel->poll(64);
  }
  return FakeEnvironment::between_slices();
}

}  // namespace couplet::testing
