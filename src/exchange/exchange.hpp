// Exchange: one member's part in a plan, from its first edge to its end. It agrees with the other members on the plan
// and on the method when it is frozen, and then carries out rounds. capi and halo use it. See plan.hpp for what the
// folder does. Invariants: a wait always asks whether the neighbours are alive; after a failure at one member, all
// others that could wait for it end with its text; user memory is touched only between start() and the end of a round.
// Tests: tests/conformance/exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cost/choices.hpp"
#include "engine/engine.hpp"
#include "exchange/chooser.hpp"
#include "exchange/method.hpp"
#include "exchange/notices.hpp"
#include "exchange/plan.hpp"
#include "exchange/rounds.hpp"
#include "exchange/routes.hpp"
#include "exchange/waiting.hpp"
#include "message/message.hpp"
#include "message/team.hpp"

namespace couplet::exchange {

class Assembly;

// What an exchange has moved by the time when it is closed.
struct Record {
  std::string_view title;
  std::string_view name;
  std::string_view method;
  const message::Group& group;
  std::uint64_t rounds = 0;  // that were begun
  std::span<const Port> ports{};
  std::span<const Traffic> traffic{};  // one for each port
};

// What an exchange needs of its process. All of it outlives the exchange.
struct Surroundings {
  message::Messenger* messenger = nullptr;
  engine::Engine* engine = nullptr;
  std::string run_directory;   // the one that the members on this node share; empty: there is none
  std::string choice_cache;    // the file of earlier choices; empty: there is none
  std::vector<Maker*> makers;  // in the order in which ties are decided
  // What is known of the methods' times; nullptr, or without curves of exchanges: nothing. cost_origin: from where.
  const cost::MachineCosts* costs = nullptr;
  std::string cost_origin{};
  std::function<void(const Record&)> record{};  // hears of each frozen exchange that is closed; empty: nobody does
};

struct ExchangeOptions {
  std::string method = "auto";  // or the name of one
  double timeout_s = 60;        // the longest freeze or close; < 0: no limit
  // What texts call it; the same at all members. A layer above gives its own: "halo 'heat'".
  std::string title{};  // "": "exchange '<name>'"
};

// How far a round is.
struct Partial {
  std::size_t arrived_count = 0;  // messages that have arrived
  bool is_over = false;           // the round is
  // Nobody needs to hear of arrivals at once: the wait ends with the round, unless that takes long.
  bool is_patient = false;
  std::uint64_t waited_ns = 0;  // set by wait(): how long this call has waited; 0: what it waited for was there
};

class Exchange final : public engine::Source {
 public:
  // No message is sent. Returns state if this process is no member of the group; argument if the name is empty.
  static Result<std::unique_ptr<Exchange>> create(const Surroundings& around, const message::Group& group,
                                                  const std::string& name, const ExchangeOptions& options);
  // Only after close(); or if is_idle() is false, after the universe was left.
  ~Exchange() override;

  // Adds an edge, and returns its number: 0, 1, 2, ... If there is one of the same peer, direction and tag, and it has
  // the same terms, the regions are added to that one. Errors: argument; mismatch, if the terms differ; state, if the
  // exchange is frozen.
  Result<std::uint32_t> add(Edge edge);
  // Agrees with the other members on the edges, and on the method. Collective over the group; blocks. Errors: argument,
  // mismatch, unsupported, timeout, peer_lost. After an error, the exchange can only be closed. own: an error makes it
  // fail with that one at all members, because this member could not add an edge.
  Status freeze(const Status& own = {});
  // Begins a round: what is sent is packed, unless a neighbour has not consumed an earlier message. Does not block.
  // state: a round is under way, or the exchange is not frozen.
  Status start();
  // Does what can be done, and says whether the round is over. state: none was started.
  Status test(bool& is_done);
  // Blocks until the round is over. timeout: it is still under way, and the text says for which ranks it waits.
  // partial: also ends as soon as more than partial->arrived_count messages of the round have arrived, and says how far
  // it is: for a caller that uses what comes from one neighbour while it waits for others.
  Status wait(std::uint64_t deadline_ns, Partial* partial = nullptr);
  // Has what edge `edge` receives arrived in this round? argument: it does not receive, or there is no such edge.
  Result<bool> arrived(std::uint32_t edge);
  // The bytes that the edge moves in a round. limit: more than it has; state: a round is under way.
  Status set_length(std::uint32_t edge, std::uint64_t bytes);
  Result<std::uint64_t> length(std::uint32_t edge) const;
  // The method; "" before it is frozen.
  [[nodiscard]] std::string_view method() const noexcept;
  // A table of the methods, why some were left out, and what trials have shown.
  [[nodiscard]] const std::string& explanation() const noexcept { return choice_.explanation; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Before it is frozen: lets all members tell each other what they need to know to add their edges. Collective over
  // the group; blocks. body: makes the same calls of the talk at all members; if it returns an error at one of them,
  // all get that one, and it has failed.
  Status confer(const std::function<Status(Assembly&)>& body);
  // What has moved to and from each neighbour; empty before it is frozen.
  [[nodiscard]] std::span<const Traffic> traffic() const noexcept;
  // Fails it for all members that could wait for it, with an error that the caller has met. Returns the error with
  // which it has failed, which is an earlier one if there was one.
  Status give_up(const Status& why);
  // Ends the exchange. The neighbours are told; one that waits for a round which this member has not begun gets state.
  // Blocks while messages refer to memory of the exchange, at most until the timeout. Safe to call twice.
  Status close();
  // After close(): can the object be destroyed now?
  [[nodiscard]] bool is_idle() const noexcept;

  int poll(std::uint64_t now_ns, int budget) override;
  [[nodiscard]] bool ready() const override;
  void tick(std::uint64_t now_ns) override;

 private:
  enum class State : std::uint8_t { open, frozen, running, failed, closed };
  using EdgeName = std::tuple<Direction, std::int32_t, std::int64_t>;  // with the peer and the tag
  struct Added {
    std::uint32_t place = 0;
    std::uint64_t bytes = 0;
  };

  Exchange(const Surroundings& around, const message::Group& group, std::string name, const ExchangeOptions& options);
  [[nodiscard]] Status expect(State wanted, std::string_view what) const;
  Status meet(message::Team& team, const Status& own_edges, std::uint64_t deadline_ns);
  Status move();
  Status end_round();
  [[nodiscard]] Status check_edge(std::uint32_t edge) const;

  Surroundings around_;
  message::Group group_;  // a copy, so that its requests are none of the user's
  std::string name_;
  ExchangeOptions options_;
  State state_ = State::open;
  std::vector<Edge> edges_;
  std::map<EdgeName, Added> added_;
  Routes routes_;
  Notices notices_;
  std::unique_ptr<Assembly> assembly_;  // messages may refer to its memory; nullptr: nobody has conferred
  Choice choice_;
  std::unique_ptr<Rounds> rounds_;
  Waiting waiting_;
  Status failure_;
};

}  // namespace couplet::exchange
