#include "support/parties.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "channel/progress.hpp"
#include "engine/peer_patience.hpp"
#include "link/self/self_lane.hpp"
#include "link/tcp/tcp_lane.hpp"
#include "os/socket.hpp"
#include "support/child.hpp"

namespace couplet::test {
namespace {

template <typename T>
T checked(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status().text();
  return std::move(*result);
}

}  // namespace

std::pair<std::unique_ptr<link::Lane>, std::unique_ptr<link::Lane>> tcp_lanes() {
  const auto listener = checked(link::TcpListener::open(checked(os::resolve("127.0.0.1:0"))));
  const auto connector = checked(link::TcpConnector::open(listener->endpoint()));
  os::Descriptor ends[2];
  EXPECT_TRUE(eventually([&] {
    if (!ends[0]) {
      if (auto accepted = listener->accept(); accepted.ok()) ends[0] = std::move(*accepted);
    }
    if (!ends[1]) {
      if (auto connected = connector->poll(); connected.ok()) ends[1] = std::move(*connected);
    }
    return ends[0] && ends[1];
  }));
  return {checked(link::make_tcp_lane(std::move(ends[0]))), checked(link::make_tcp_lane(std::move(ends[1])))};
}

std::string_view lane_name(LaneKind kind) {
  return kind == LaneKind::shm ? "shm" : "tcp";
}

Party::Party(const std::string& directory, int rank, int size, const message::MessengerOptions& options,
             engine::Patience patience)
    : rank_(rank),
      self_{.peer = static_cast<std::uint32_t>(rank),
            .incarnation = 1,
            .memory_nonce = 1000U + static_cast<unsigned>(rank)} {
  os::PageOwner owner;
  owner.peer = self_.peer;
  owner.incarnation = self_.incarnation;
  owner.memory_nonce = self_.memory_nonce;
  owner.rank_count = static_cast<std::uint32_t>(size);
  page_ = checked(os::ProcessPage::create(directory, owner));
  doorbell_ = checked(os::Doorbell::open(os::bell_path(directory, self_.peer), page_->sleep_flag()));
  shm = checked(link::ShmLink::open(directory, self_));
  engine = std::make_unique<engine::Engine>(*doorbell_, patience);
  messenger = std::make_unique<message::Messenger>(*this, engine.get(), self_.peer, size, options);
  engine->add(*this, engine::Rate::often);
}

Party::~Party() {
  for (const auto& [peer, channel] : channels_) {
    if (!channel->lanes().empty() && channel->lanes().front()->descriptor() >= 0)
      engine->unwatch(channel->lanes().front()->descriptor());
  }
  engine->remove(*this);
}

void Party::attach(int peer, std::unique_ptr<link::Lane> lane) {
  channel::Handlers handlers{};
  handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &messenger->handler();
  const int descriptor = lane->descriptor();
  auto& channel = channels_[peer];
  channel =
      std::make_unique<channel::Channel>(static_cast<channel::PeerId>(peer), fmt::format("party {}", peer), handlers);
  channel->attach(std::move(lane));
  if (descriptor >= 0) {
    EXPECT_TRUE(engine->watch(descriptor, false, *this).ok());
  }
}

Result<channel::Channel*> Party::channel_to(channel::PeerId peer) {
  return channels_.at(static_cast<int>(peer)).get();
}

int Party::poll(std::uint64_t /*now_ns*/, int budget) {
  int work = 0;
  for (const auto& [peer, channel] : channels_) {
    work += channel->poll(budget);
    if (channel->lanes().empty()) continue;
    const link::Lane& lane = *channel->lanes().front();
    if (lane.descriptor() >= 0 && channel->state() == channel::ChannelState::open) {
      EXPECT_TRUE(engine->watch(lane.descriptor(), lane.want_write(), *this).ok());
    } else if (lane.descriptor() >= 0) {
      engine->unwatch(lane.descriptor());
    }
  }
  return work;
}

bool Party::ready() const {
  for (const auto& [peer, channel] : channels_) {
    if (channel->ready()) return true;
  }
  return false;
}

void Party::end() {
  engine::PeerPatience patience(5'000'000'000, [this] {
    std::uint64_t taken = 0;
    for (const auto& [peer, channel] : channels_) taken += channel::taken_by_peer(*channel);
    return taken;
  });
  static_cast<void>(messenger->flush(patience));  // as a process does that leaves its universe
  for (const auto& [peer, channel] : channels_) channel->shut();
  const Status ended = engine->wait(
      [this] {
        for (const auto& [peer, channel] : channels_) {
          if (!channel->settled()) return false;
        }
        return true;
      },
      os::deadline_after(20), [] { return std::string("the end of all channels"); });
  EXPECT_TRUE(ended.ok()) << ended.text();
}

Parties::Parties(LaneKind kind, int size, const message::MessengerOptions& options, const Wrap& wrap) {
  auto patience = engine::patience_for();
  if (size > ::sysconf(_SC_NPROCESSORS_ONLN)) patience.spin_ns = 0;
  message::MessengerOptions chosen = options;
  if (patience.spin_ns == 0) chosen.spin_rounds = 0;
  for (int rank = 0; rank < size; ++rank) {
    parties_.push_back(std::make_unique<Party>(directory_.path(), rank, size, chosen, patience));
  }
  for (int low = 0; low < size; ++low) {
    auto own = checked(link::make_self_lane());
    (*this)[low].attach(low, wrap ? wrap(std::move(own)) : std::move(own));
    for (int high = low + 1; high < size; ++high) connect(kind, (*this)[low], (*this)[high], wrap);
  }
}

void Parties::connect(LaneKind kind, Party& low, Party& high, const Wrap& wrap) {
  std::unique_ptr<link::Lane> of_low;
  std::unique_ptr<link::Lane> of_high;
  if (kind == LaneKind::shm) {
    of_low = checked(low.shm->connect(high.self()));
    of_high = checked(high.shm->accept(low.self()));
  } else {
    std::tie(of_low, of_high) = tcp_lanes();
  }
  low.attach(high.rank(), wrap ? wrap(std::move(of_low)) : std::move(of_low));
  high.attach(low.rank(), wrap ? wrap(std::move(of_high)) : std::move(of_high));
}

void Parties::run(const std::function<void(Party&)>& body, bool good_end) {
  std::vector<std::thread> threads;
  for (auto& party : parties_) {
    threads.emplace_back([&body, &party, good_end] {
      body(*party);
      if (good_end) party->end();
    });
  }
  for (auto& thread : threads) thread.join();
}

int LaneMessengers::poll() {
  int work = 0;
  for (int rank = 0; rank < size(); ++rank) {
    if (alive_[static_cast<std::size_t>(rank)]) work += parties_[rank].poll(0, 64);
  }
  return work;
}

bool LaneMessengers::run_until(const std::function<bool()>& done) {
  const std::uint64_t limit_ns = os::deadline_after(30);
  for (unsigned round = 0; !done(); ++round) {
    poll();
    if (round % 1024 == 1023 && os::now_ns() > limit_ns) return done();
  }
  return true;
}

void LaneMessengers::kill(int rank) {
  alive_[static_cast<std::size_t>(rank)] = false;
  parties_[rank].die();
}

}  // namespace couplet::test
