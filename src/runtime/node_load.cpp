#include "runtime/node_load.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "os/clock.hpp"
#include "os/host.hpp"

namespace couplet::runtime {
namespace {

constexpr unsigned calls_between_counts = 16;
constexpr std::uint64_t sample_ns = 20'000'000;
// Each takes a descriptor, and a microsecond for each sample. On a node with more processes, the load of the host alone
// decides.
constexpr std::size_t max_meters = 256;

}  // namespace

NodeLoad::NodeLoad(const universe::Membership& membership) : membership_(membership) {
  load_.cores = os::LoadMeter::cores();
  load_.usable_cores = os::usable_cores();
  load_.restricted = load_.usable_cores < load_.cores;
}

// The load of the host counts every program. How many processes of the universe are among those that run is at most
// what their own running times say.
engine::Load NodeLoad::measure() {
  const std::uint64_t now_ns = os::now_ns();
  if (calls_++ % calls_between_counts == 0) count_peers(now_ns);
  if (load_.processes <= load_.usable_cores) return load_;
  if (load_.restricted) {
    load_.delay_ns = os::LoadMeter::delay_ns();
    return load_;
  }
  load_.runnable = host_.runnable();
  if (load_.runnable > load_.cores) load_.runnable = std::min(load_.runnable, running_peers(now_ns));
  return load_;
}

void NodeLoad::count_peers(std::uint64_t now_ns) {
  std::vector<Peer> present;
  for (std::int32_t rank = 0; rank < membership_.size(); ++rank) {
    const auto id = static_cast<channel::PeerId>(rank);
    const auto& info = membership_.peer(id);
    if (info.state == universe::PeerState::present && info.node == membership_.node()) {
      present.push_back({id, info.contact_known ? info.process : 0});
    }
  }
  load_.processes = static_cast<int>(present.size());
  if (present == peers_) return;
  peers_ = std::move(present);
  meters_.clear();
  if (load_.processes <= load_.usable_cores || load_.restricted || peers_.size() > max_meters) return;
  meters_.reserve(peers_.size());
  for (const Peer& peer : peers_) {
    static_cast<void>(meters_.emplace_back(peer.process).share(now_ns));
  }
  sampled_ns_ = now_ns;
  running_ = load_.processes;
}

int NodeLoad::running_peers(std::uint64_t now_ns) {
  if (meters_.empty()) return load_.processes;
  if (now_ns - sampled_ns_ >= sample_ns) {
    sampled_ns_ = now_ns;
    double shares = 0;
    for (os::RunMeter& meter : meters_) {
      shares += meter.share(now_ns);
    }
    running_ = static_cast<int>(std::lround(shares));
  }
  return running_;
}

}  // namespace couplet::runtime
