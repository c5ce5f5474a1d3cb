// runtime: turns configuration into one working whole. It is the only folder that names concrete links. Everything that
// is used is listed here, and nothing registers itself. capi is above it, all other folders are below it.
// Invariants: several universes in one process do not affect each other; what is opened first is closed last; a
// universe that could not be joined leaves nothing behind.
// Tests: tests/universe, tests/languages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "collective/collective.hpp"
#include "engine/engine.hpp"
#include "exchange/exchange.hpp"
#include "message/message.hpp"
#include "message/team.hpp"
#include "runtime/cost_file.hpp"
#include "runtime/node_relay.hpp"
#include "runtime/readiness.hpp"
#include "runtime/relay_start.hpp"
#include "runtime/series_environment.hpp"
#include "runtime/task_environment.hpp"
#include "runtime/transports.hpp"
#include "series/reader.hpp"
#include "series/window.hpp"
#include "series/writer.hpp"
#include "task/area.hpp"
#include "task/mailbox.hpp"
#include "universe/join.hpp"

namespace couplet::runtime {

class ExchangeMethods;

class Universe final {
 public:
  static Result<std::unique_ptr<Universe>> join(const universe::JoinRequest& request);
  ~Universe();
  Universe(const Universe&) = delete;
  Universe& operator=(const Universe&) = delete;

  [[nodiscard]] universe::Membership& membership() noexcept { return *member_; }
  [[nodiscard]] const universe::Membership& membership() const noexcept { return *member_; }
  [[nodiscard]] message::Messenger& messenger() noexcept { return *messenger_; }
  [[nodiscard]] series::Environment& environment() noexcept { return *environment_; }
  [[nodiscard]] message::Group& everyone() noexcept { return messenger_->groups().universe(); }
  [[nodiscard]] message::Group& own_program() noexcept { return *own_program_; }

  // team: set if the writer needs it as long as it lives (options.collective). refusal: as in Writer::create.
  Result<std::unique_ptr<series::Writer>> create_series(message::Group& group,
                                                        const series::WriterSpecification& specification,
                                                        const series::WriterOptions& options, std::uint64_t deadline_ns,
                                                        std::unique_ptr<message::Team>& team, const Status& refusal);
  // Returns the team that reads `name` together: the group, or this rank alone.
  Result<std::unique_ptr<message::Team>> reading_team(message::Group& group, const std::string& name, bool local);

  // options.method is overridden by the setting exchange.method. makers: outlive the exchange.
  Result<std::unique_ptr<exchange::Exchange>> create_exchange(message::Group& group, const std::string& name,
                                                              exchange::ExchangeOptions options,
                                                              const std::vector<exchange::Maker*>& makers);

  // Returns the mailbox. It is made at the first call, so that programs without tasks and areas do not pay for it.
  task::Mailbox& mailbox();
  task::Areas& areas();

  Status progress();
  // Handles a step that was published by a call that ended at now_ns: sends it if writers do so inside their calls
  // (relay = in_calls), and lets others read it in the window. Every 0.1 s it lets the process hear of its hub and its
  // peers, since this may be its only call: a hub that was started again has to be told that it lives, and a relay that
  // it has started may be lost.
  void published(std::uint64_t now_ns) {
    if (node_relay_ || now_ns >= next_look_ns_) [[unlikely]] {
      attend(now_ns);
    }
    if (window_) [[unlikely]] {
      window_->progress();
    }
  }
  // Takes the window of the MPI job, once, before there are series. leave() is then collective over the job.
  void use_window(std::unique_ptr<series::Window> window);
  // `check` is described at Engine::set_interrupt.
  void set_interrupt(std::function<bool()> check) { engine_->set_interrupt(std::move(check)); }
  // Sets the object that gives each thread its turn, if several threads call.
  Status set_turn(engine::Turn& turn) { return engine_->set_turn(turn); }
  // Ends everything that other threads still wait for. It is called before leave().
  void abandon() noexcept { messenger_->abandon(engine::error_of(engine::Ending::left)); }
  // Returns JSON: links, limits and choices, and the reasons. calls: nullptr if no collective call was made.
  [[nodiscard]] std::string explain(const collective::Collectives* calls) const;
  // Delivers what was sent and leaves. Afterwards the object can only be destroyed.
  Status leave();

 private:
  friend std::unique_ptr<Readiness> make_readiness(Universe& universe);
  friend std::unique_ptr<collective::Collectives> make_collectives(Universe& universe);
  friend std::unique_ptr<ExchangeMethods> make_exchange_methods(Universe& universe);
  Universe() = default;
  Status assemble(const universe::JoinRequest& request);
  Status make_messenger(const KnownCosts& costs);
  Status make_relay(const universe::JoinRequest& request, std::uint64_t patience_ns);
  void attend(std::uint64_t now_ns);
  Status end_window();
  void heard_of_loss(channel::PeerId peer, const Status& why);

  // The members are in the order of dependence.
  std::unique_ptr<universe::Membership> member_;
  std::unique_ptr<counters::Counters> counters_;  // in the page of the membership
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<connections::Connections> connections_;
  std::unique_ptr<message::Messenger> messenger_;
  std::unique_ptr<SeriesEnvironment> environment_;
  std::unique_ptr<relay::Remote> remote_;
  std::unique_ptr<NodeRelay> node_relay_;  // only if writers send themselves
  unsigned pushed_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::unique_ptr<relay::Dispatch> relay_frames_;
  std::unique_ptr<RelayStart> relay_start_;
  std::unique_ptr<series::Window> window_;
  std::unique_ptr<engine::Source> window_progress_;
  std::unique_ptr<TaskEnvironment> task_environment_;
  std::unique_ptr<task::Mailbox> mailbox_;
  std::unique_ptr<task::Areas> areas_;
  engine::Patience patience_;
  message::Group* own_program_ = nullptr;
};

// Makes the object that waits for any of several things. It has to end before leave().
[[nodiscard]] std::unique_ptr<Readiness> make_readiness(Universe& universe);

// Makes the list of the methods of exchanges.
[[nodiscard]] std::unique_ptr<ExchangeMethods> make_exchange_methods(Universe& universe);

// Makes the object that carries out collective calls. It has to be shut before leave(), and destroyed afterwards.
[[nodiscard]] std::unique_ptr<collective::Collectives> make_collectives(Universe& universe);

}  // namespace couplet::runtime
