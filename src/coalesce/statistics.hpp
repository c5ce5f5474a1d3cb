// Statistics: what the rounds have cost: messages and bytes for each peer, parts and bytes for each client, and waits
// for each phase. They are counted where it happens, so that they are nearly free; only the time within callbacks takes
// two looks at the clock for each of them, and is measured if a timeline is. CommunicationsManager and StepManager fill
// it in. Tests: tests/unit/coalesce/statistics_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace couplet::coalesce {

struct ClientCounts {
  std::string name;
  std::uint64_t sent_parts = 0;  // how often one of its requests was sent
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_parts = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t calls_ns = 0;  // within its callbacks; 0 if it is not measured
  std::uint64_t wait_ns = 0;   // for its own messages; 0 if the waits are merged

  // Adds those of a client that was removed.
  void add(const ClientCounts& removed);
};

struct PeerCounts {
  std::int32_t rank = -1;
  std::uint64_t sent_messages = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_messages = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t wait_ns = 0;  // in the waits of each round until its messages had arrived
};

struct PhaseCounts {
  std::uint64_t waits = 0;  // synchronisation points
  std::uint64_t wait_ns = 0;
};

struct Counts {
  std::string name;
  std::string method;
  std::int32_t rank = -1;
  std::uint64_t rounds = 0;
  bool merges_waits = true;
  bool merges_messages = true;
  std::vector<ClientCounts> clients;  // in order of registration
  std::vector<PeerCounts> peers;      // in order of ranks
  std::vector<PhaseCounts> phases;
};

// Returns the entry of that rank; it is made if there is none.
[[nodiscard]] PeerCounts& peer_of(std::vector<PeerCounts>& peers, std::int32_t rank);
// A table for people.
[[nodiscard]] std::string table_of(const Counts& counts);
// One line of JSON. Page: docs/guide/coalesce.md.
[[nodiscard]] std::string json_of(const Counts& counts);

}  // namespace couplet::coalesce
