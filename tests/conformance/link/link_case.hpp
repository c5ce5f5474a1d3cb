// What a link gives to the conformance suite: a name, and a way to make two connected lanes. An implementation is a
// file of ten lines (see self.cpp) that ends with COUPLET_LINK_CONFORMS(Name, make).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "channel/lane_policy.hpp"
#include "link/fault/fault_lane.hpp"
#include "link/link.hpp"

namespace couplet::conformance {

struct Connection {
  virtual ~Connection() = default;
  // Lets something outside the lanes happen, so that they can move: time passes, or the kernel works. May wait a
  // millisecond.
  virtual void pause();

  std::unique_ptr<link::Lane> first;
  // Empty: what `first` pushes arrives at `first`.
  std::unique_ptr<link::Lane> second;
  // The other lanes of a channel with several, and how it chooses among them.
  std::vector<std::unique_ptr<Connection>> more;
  channel::LanePolicy policy;
  [[nodiscard]] bool loopback() const { return second == nullptr; }
  [[nodiscard]] link::Lane& other() const { return loopback() ? *first : *second; }
};

struct LinkCase {
  std::string name;
  std::function<std::unique_ptr<Connection>()> make;
};

// Lanes over files in a fresh directory, and over sockets of the loopback interface.
[[nodiscard]] std::unique_ptr<Connection> connect_files();
[[nodiscard]] std::unique_ptr<Connection> connect_tcp();

// The same link with something around both lanes.
[[nodiscard]] LinkCase with_faults(const LinkCase& link, const std::string& name, const link::FaultOptions& options,
                                   std::uint64_t seed, link::FaultCounts* counts = nullptr);

class LaneConformance : public testing::TestWithParam<LinkCase> {};
class ChannelConformance : public testing::TestWithParam<LinkCase> {};
class FaultDetection : public testing::TestWithParam<LinkCase> {};

[[nodiscard]] inline std::string name_of(const testing::TestParamInfo<LinkCase>& info) {
  return info.param.name;
}

}  // namespace couplet::conformance

#define COUPLET_LINK_CONFORMS(Name, make)                                                                          \
  INSTANTIATE_TEST_SUITE_P(Name, LaneConformance, testing::Values(LinkCase{#Name, make}), name_of);                \
  INSTANTIATE_TEST_SUITE_P(Name, FaultDetection, testing::Values(LinkCase{#Name, make}), name_of);                 \
  INSTANTIATE_TEST_SUITE_P(                                                                                        \
      Name, ChannelConformance,                                                                                    \
      testing::Values(LinkCase{#Name, make}, with_faults({#Name, make}, #Name "_with_delays", {.delay = 0.1}, 1)), \
      name_of)
