// The options of a messenger, and the bounds of the format that they may only lower.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/counters.hpp"
#include "wire/message.hpp"

namespace couplet::message {

// A part of the format: a receiver never keeps more for one peer.
inline constexpr std::uint64_t largest_payload_credit = wire::max_payload_credit;
inline constexpr std::uint64_t largest_envelope_count = 65536;
// The largest message of the library itself (agreements, tasks). Its receiver makes room for as much as the sender
// announces, up to this bound.
inline constexpr std::uint64_t max_internal_message_bytes = std::uint64_t{1} << 30;

// The limits of one link, if they are not those of its lanes.
struct LinkLimits {
  std::string link;                          // the name of its lanes
  std::optional<std::uint64_t> eager_bytes;  // up to this size, messages are sent without asking
  std::optional<std::uint64_t> piece_bytes;  // the size of the pieces in which large messages are sent
};

struct MessengerOptions {
  std::uint64_t payload_credit_bytes = largest_payload_credit;  // may only be lowered
  std::uint64_t envelope_limit = largest_envelope_count;        // may only be lowered
  // The credit that all peers together may be given, as they use it, beyond the credit with which they begin.
  std::uint64_t max_grown_credit_bytes = wire::max_total_credit_bytes;
  std::optional<std::uint64_t> eager_bytes;  // for all links
  std::optional<std::uint64_t> piece_bytes;  // for all links
  std::vector<LinkLimits> link_limits;       // for what is not set for all
  // Called before a call fails because of lost peers: waits for news of peers that are back. May be empty.
  std::function<void()> ask_for_news;
  bool read_memory = true;  // use process_vm_readv if it is proven to work
  // How many times one channel is polled before Engine::wait; 0: never. Not used while Engine::spin_ns is 0.
  int spin_rounds = 4000;
  std::uint64_t retained_bytes = std::uint64_t{8} << 20;  // kept blocks for messages that no receive has asked for
  bool foreign_byte_order = false;  // for tests: claims that sent numbers have the other byte order
  // The counters of the process page, which outlive the messenger. If not set, the messenger counts for itself.
  counters::Counters* counters = nullptr;
};

}  // namespace couplet::message
