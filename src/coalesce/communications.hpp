// CommunicationsManager: moves what all clients of a rank have asked for. It knows requests, plans and counts, and no
// callbacks: the StepManager calls it between the stages of a round. Tests: tests/conformance/coalesce.
// Invariants: what fails one exchange of a plan fails all of them, with the same text; a plan is replaced only between
// rounds, and the exchanges of the old one are closed when all ranks meet next, so that no round waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coalesce/client_list.hpp"
#include "coalesce/plan.hpp"
#include "coalesce/statistics.hpp"
#include "message/message.hpp"

namespace couplet::coalesce {

struct Options {
  int phase_count = 1;
  Switches switches{};
  double timeout_s = 60;       // the longest freeze, amendment or close; < 0: no limit
  std::size_t max_events = 0;  // the timeline's bound; 0: there is none
};

// What a manager needs of its process. It outlives the manager.
struct Surroundings {
  message::Messenger* messenger = nullptr;
  std::function<Result<std::unique_ptr<exchange::Exchange>>(const std::string& name)> make_exchange;
};

class CommunicationsManager {
 public:
  using Receiver = Wave::Receiver;

  CommunicationsManager(Surroundings around, const message::Group& group, std::string name, const Options& options);
  CommunicationsManager(const CommunicationsManager&) = delete;
  CommunicationsManager& operator=(const CommunicationsManager&) = delete;

  // ---- between rounds ----
  // Adds a client to the next plan, and returns its place: 0, 1, 2, ... Errors: argument, exists, limit.
  Result<std::size_t> add_client(std::string name, bool hears_arrivals);
  // The next plan has the client no longer. Its memory is given back when that plan is used. not_found: there is none
  // at that place.
  Status remove_client(std::size_t client);
  // Declares a request of a client for the next plan. Errors: argument; exists, if the client has one of the same
  // phase, direction, peer and tag.
  Result<RequestId> add(std::size_t client, Request request);
  // Collective: makes a plan of what is declared, which is used from that round on. If it fails, the plan before goes
  // on. Errors: mismatch, argument, unsupported, timeout, peer_lost.
  Status freeze(std::uint64_t now_round, std::uint64_t from_round);
  // The round begins: takes the plan that is for it.
  void begin_round(std::uint64_t round);

  // ---- in a round ----
  [[nodiscard]] const std::vector<std::size_t>& clients() const noexcept { return plan_clients_; }
  [[nodiscard]] std::vector<Sync>& syncs(int phase) { return plan_.phases[static_cast<std::size_t>(phase)]; }
  // Fill begins: lengths are those of a round for which nobody has set any.
  Status begin_fill(int phase);
  // Fill is over: everything of `sync` is sent.
  Status start(Sync& sync);
  // Blocks until more of `sync` has arrived, or all. arrived: gets the requests whose messages have come. timeout,
  // interrupted: call it again.
  Status wait_next(int phase, Sync& sync, std::uint64_t deadline_ns, std::vector<const Receiver*>& arrived,
                   bool& is_over);
  // The bytes of a request in this round. Errors: state, if its phase is not being filled; argument; limit.
  Status set_length(RequestId request, std::uint64_t bytes);
  // 0: nothing is sent, or has come, in this round.
  Result<std::uint64_t> length(RequestId request) const;
  // Ends the rounds of all ranks with an error that this one has met.
  void give_up(const Status& why);

  // ---- at any time ----
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] ClientList& client_list() noexcept { return clients_; }
  [[nodiscard]] const message::Group& group() const noexcept { return group_; }
  // "coalesce 'flow'"
  [[nodiscard]] std::string title() const;
  // Closes all exchanges. Blocks as they do.
  Status close();
  // What could not be destroyed yet: the caller keeps it until the universe was left.
  [[nodiscard]] std::vector<std::unique_ptr<exchange::Exchange>> take_unfinished() { return std::move(unfinished_); }

 private:
  Result<std::vector<std::string>> meet(std::uint64_t now_round, std::uint64_t from_round);
  Status close_plan(Plan& plan);
  void adopt(Plan plan);
  void count(const Wave& wave);
  void note_messages(Wave& wave, std::uint64_t waited_ns, std::vector<const Receiver*>& arrived) const;
  void note_arrivals(const Wave& wave, std::int32_t peer, std::vector<const Receiver*>& arrived) const;

  Surroundings around_;
  message::Group group_;
  Options options_;
  ClientList clients_;
  Plan plan_;
  std::vector<std::size_t> plan_clients_;  // places, in order of registration
  std::optional<Plan> next_;
  std::vector<Plan> retired_;
  std::vector<std::unique_ptr<exchange::Exchange>> unfinished_;
  std::uint64_t plan_count_ = 0;
  int filled_ = -1;  // the phase that is being filled; -1: none
  // Of the wait that was begun last.
  bool is_waiting_ = false;
  std::uint64_t waited_ns_ = 0;
  std::uint64_t round_ = 0;
  Counts counts_;
};

}  // namespace couplet::coalesce
