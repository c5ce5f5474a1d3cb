// Method: a way to move one message to and from each neighbour in each round. Each implementation is a file of its own
// (two_sided.cpp, mapped.cpp, and mpi/*.cpp, which is compiled once for each MPI), and passes the conformance suite
// (tests/conformance/exchange). A plan whose neighbours are partly on the own node may have two methods: each gets its
// own ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace couplet::message {
class Group;
}

namespace couplet::exchange {

// One neighbour, as a method sees it. Messages of a port are counted in each direction, from 0 on: message n of the
// sender is message n of the receiver. Which rounds have a message follows from the plan, so both sides know it.
struct Port {
  std::int32_t peer = -1;       // rank in the group; never the own one: the exchange copies such edges itself
  std::uint64_t out_bytes = 0;  // the longest message to it
  std::uint64_t in_bytes = 0;   // the longest message from it
  bool sends = false;           // there is an edge to it, although it may have no bytes
  bool receives = false;
  // Both directions have a message in every round. A double-buffered method then needs no credit: the message n + 1 of
  // the neighbour tells that it has consumed message n. Otherwise the method tells the sender what was consumed.
  bool is_paired = false;
};

// How a caller may sleep until poll() can do something.
struct Sleep {
  bool may_block = false;      // false: only for bounded naps (outstanding work of MPI)
  const void* word = nullptr;  // a futex word, or nullptr: the engine's doorbell rings
  std::uint32_t expected = 0;
};

// The calls of a round, in this order: begin; for each sending port: outgoing, send; all_sent; poll until has_arrived
// is true for each receiving port and is_complete; incoming for each; end. No call blocks (but see blocks()), and none
// is made by two threads at a time. An error is final: the method is then only abandoned and destroyed.
class Method {
 public:
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;

  // "put_flag"; for `explain`, errors and forced choices.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // Does poll() wait for the neighbours, because the substrate has no call that does not? It is then called only within
  // a call of the user that waits, never in a test or in the background.
  [[nodiscard]] virtual bool blocks() const noexcept { return false; }
  // Do the neighbours need calls of poll() between rounds, too, because data moves only in calls of the substrate? Such
  // a poll() never waits.
  [[nodiscard]] virtual bool is_driven() const noexcept { return false; }

  // Begins a round in which these ports send and receive a message. The spans stay valid until end().
  virtual Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) = 0;
  // Returns the memory for the port's message, 64-byte aligned, of out_bytes; nullptr: not yet (the neighbour has not
  // consumed an earlier message), poll and ask again. The method owns the memory.
  [[nodiscard]] virtual std::byte* outgoing(std::uint32_t port) = 0;
  // The message is filled, and `bytes` long.
  virtual Status send(std::uint32_t port, std::uint64_t bytes) = 0;
  // send() was called for all sending ports.
  virtual Status all_sent() = 0;
  // Does what can be done now.
  virtual Status poll() = 0;
  [[nodiscard]] virtual bool has_arrived(std::uint32_t port) const = 0;
  // Returns what has arrived. The method owns the memory, which stays as it is until end(); 64-byte aligned.
  [[nodiscard]] virtual std::span<const std::byte> incoming(std::uint32_t port) const = 0;
  // May end() be called as soon as everything has arrived?
  [[nodiscard]] virtual bool is_complete() const = 0;
  // All messages of the round are consumed. The next round may begin.
  virtual Status end() = 0;

  // Prepares the caller for sleep: sets the flags by which neighbours see that it sleeps, and looks once more.
  // Returns false if poll() can do something now.
  virtual bool before_sleep(Sleep& sleep) = 0;
  virtual void after_sleep() noexcept = 0;

  // Ends the method in good order. Collective over the members that have ports with each other; does not block: call it
  // until it returns true.
  virtual Result<bool> close() = 0;
  // Ends the method after an error, without the others; does not block. Returns false while messages that are under way
  // still refer to its memory: call it again. If that lasts too long, the method is kept until the universe was left,
  // and destroyed then, so that a destructor calls nothing of Couplet.
  virtual bool abandon() noexcept { return true; }
};

// What a method is made from.
struct Setting {
  std::int32_t rank = 0;  // the caller's, in the group
  std::int32_t size = 0;  // of the group
  std::span<const Port> ports;
  std::string run_directory;        // a place for files of this node that belong to the universe; empty: none
  std::string name;                 // of the exchange; the same at all members, and used once by each group
  std::uint64_t deadline_ns = 0;    // os::now_ns scale
  message::Group* group = nullptr;  // outlives the method
  std::uint32_t context = 0;        // for messages of Couplet; no other method has it
  bool is_pinned = false;           // the user has asked for this method
};

// Small facts that members tell each other while a method is made, over Couplet's own messages.
class Talk {
 public:
  virtual ~Talk() = default;
  // Sends one text to each port, and returns those of the ports in the same order. Blocks until the deadline of the
  // setting: timeout, peer_lost, interrupted.
  virtual Result<std::vector<std::string>> swap(std::span<const std::string> texts) = 0;
  // Returns the texts of all members of the group, by rank.
  virtual Result<std::vector<std::string>> gather(const std::string& text) = 0;
  // Returns the first error that any member gives, at all members; ok if there is none.
  virtual Status agree(const Status& own) = 0;
};

// Makes one method. What is used is listed in runtime/, and in exchange/mpi/methods.cpp for each MPI.
class Maker {
 public:
  virtual ~Maker() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Returns the library on which the method depends, for example "Open MPI v4.1.4"; "": none but Couplet.
  [[nodiscard]] virtual std::string_view substrate() const noexcept { return {}; }
  // Collective over the group: all members call it in the same order, also those without ports. Returns unsupported,
  // with the reason, if the method cannot be used for this setting. The members agree on that (Talk::agree), so that
  // all of them get a method, or none.
  virtual Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) = 0;
};

// libcouplet and libcouplet_mpi_* must be of the same build, since classes pass between them.
inline constexpr std::string_view methods_build = "methods 2, " __VERSION__;

}  // namespace couplet::exchange
