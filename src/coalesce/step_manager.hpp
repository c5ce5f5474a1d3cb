// StepManager: runs rounds. In each phase it calls fill of all clients, lets everything be sent, calls overlap, waits
// once, and calls use. Between these stages the CommunicationsManager works. capi owns it.
// Tests: tests/conformance/coalesce. Invariants: within a stage clients are called in the order of registration; with
// separate waits, start, overlap and wait are made for one client after the other, so that each stage still has the
// same order; an error of a callback fails the rounds of all ranks; a round that has timed out goes on in the next
// call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coalesce/client.hpp"
#include "coalesce/communications.hpp"
#include "coalesce/timeline.hpp"

namespace couplet::coalesce {

class StepManager {
 public:
  StepManager(const Surroundings& around, const message::Group& group, std::string name, const Options& options);
  StepManager(const StepManager&) = delete;
  StepManager& operator=(const StepManager&) = delete;

  // Adds a client, which takes part from the next freeze or amendment on. Returns its place. Errors: as add_client.
  Result<std::size_t> add(std::unique_ptr<Client> client);
  // The client takes part until the next amendment. not_found: there is none.
  Status remove(std::size_t client);
  // Agrees with all ranks on clients and requests. Collective; blocks. After an error, it can only be closed.
  Status freeze();
  // Agrees, as freeze() does, on the clients and requests that were added or removed since the last agreement. The new
  // plan takes effect when the round `from_round` begins. Collective: all ranks call it between the same two rounds,
  // with the same number. After an error, the rounds go on with the old plan.
  Status amend(std::uint64_t from_round);
  // Runs a round, or goes on with the one that a timeout has interrupted. timeout, interrupted: call it again.
  Status run_round(std::uint64_t deadline_ns);
  // The number of the round that is under way, or comes next.
  [[nodiscard]] std::uint64_t round() const noexcept { return round_; }
  // Is a callback running?
  [[nodiscard]] bool is_inside() const noexcept { return is_inside_; }
  [[nodiscard]] CommunicationsManager& communications() noexcept { return communications_; }
  [[nodiscard]] const CommunicationsManager& communications() const noexcept { return communications_; }
  [[nodiscard]] std::string timeline() const;
  // Closes all exchanges. state: a round was under way.
  Status close();

 private:
  enum class State : std::uint8_t { open, frozen, waiting, failed, closed };
  [[nodiscard]] Status expect(State wanted, std::string_view what) const;
  Status fill();
  Status start();
  Status wait(std::uint64_t deadline_ns);
  Status use();
  Status end();
  template <typename Body>
  Status call(std::size_t client, std::string_view stage, const Body& body);
  Status callback_failed(std::size_t client, std::string_view stage, const Status& why);
  Status fail_with(Status why);
  [[nodiscard]] Moment moment(std::int32_t peer = -1) const { return {.round = round_, .phase = phase_, .peer = peer}; }

  CommunicationsManager communications_;
  message::Messenger& messenger_;
  int phase_count_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Stages> stages_;  // one for each client
  std::vector<const Wave::Receiver*> arrived_;
  Timeline timeline_;
  State state_ = State::open;
  bool is_inside_ = false;
  std::uint64_t round_ = 0;
  int phase_ = 0;
  std::size_t sync_ = 0;
  std::uint64_t wait_start_ns_ = 0;
  Status failure_;
};

}  // namespace couplet::coalesce
