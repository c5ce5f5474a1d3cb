// How busy the cores of this node are with processes of the universe, for engine::Crowd. Above: the universe, which
// gives it to the engine. Below: the table of peers, os/load. Invariants: a process that has a core of its own asks the
// system nothing; otherwise a question takes some microseconds, and those about peers are asked every 20 ms at most.
// Tests: tests/unit/runtime/node_load_test.cpp; of the parts: tests/unit/engine/crowd_test.cpp,
// tests/unit/os/load_test.cpp; of the time of a message: bench/run message --case shm/8B+50peers.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/crowd.hpp"
#include "os/load.hpp"
#include "universe/membership.hpp"

namespace couplet::runtime {

class NodeLoad {
 public:
  // The membership outlives this object.
  explicit NodeLoad(const universe::Membership& membership);
  // Does not block.
  [[nodiscard]] engine::Load measure();

 private:
  struct Peer {
    channel::PeerId id = 0;
    std::uint32_t process = 0;  // 0: not known
    friend bool operator==(const Peer&, const Peer&) = default;
  };
  void count_peers(std::uint64_t now_ns);
  [[nodiscard]] int running_peers(std::uint64_t now_ns);

  const universe::Membership& membership_;
  os::LoadMeter host_;
  engine::Load load_;
  unsigned calls_ = 0;
  std::vector<Peer> peers_;  // present on this node, with this process
  std::vector<os::RunMeter> meters_;
  std::uint64_t sampled_ns_ = 0;
  int running_ = 0;
};

}  // namespace couplet::runtime
