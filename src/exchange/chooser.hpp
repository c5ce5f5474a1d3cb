// The chooser: makes the methods that can be used, tries each one, and keeps the fastest. A method first has to deliver
// right contents of the real sizes; then it is timed in a few short samples. All members come to the same choice; ties
// go to the order of the list, which the predicted times of the first member decide, if it has any. If the cache of the
// first member remembers the fastest one, no other one is made. Exchange uses it.
// Tests: tests/conformance/exchange/chooser_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/choices.hpp"
#include "engine/engine.hpp"
#include "exchange/choice_cache.hpp"
#include "exchange/method.hpp"
#include "exchange/waiting.hpp"

namespace couplet::exchange {

inline constexpr std::string_view automatic_method = "auto";

// What is chosen from. All members have the same names, in the same order.
struct Candidates {
  std::vector<Maker*> makers;
  std::string wanted = std::string(automatic_method);  // or a name: no other one is tried
  std::uint64_t epoch = 0;                             // for the contexts of methods
  // If the first member has a cache of choices, it looks there first, and writes there what trials have shown.
  bool has_cache = false;
  ChoiceCache cache{""};
  Situation situation;
  // If the first member has predicted times, they decide the order of the makers: the methods are tried in this order,
  // and ties go to it.
  bool has_costs = false;
  const cost::MachineCosts* costs = nullptr;  // those of this member
  std::string cost_origin{};                  // where they come from
  std::uint64_t max_bytes = 0;                // the length of the longest message
};

struct Choice {
  std::unique_ptr<Method> method;
  std::string explanation;
  double time_ns = 0;  // that a round took in the trials; 0: there were none
  // Methods that were left out and whose memory is still referred to: they are destroyed with the exchange.
  std::vector<std::unique_ptr<Method>> leftovers;
};

// Collective over the group. It may put the makers in another order. news: see Waiting::until. Returns unsupported,
// with the reasons, if no method can be used. After an error, `choice` has leftovers, too.
Status choose_method(Candidates& candidates, const Setting& setting, Talk& talk, engine::Engine& engine,
                     const std::function<Status()>& news, Choice& choice);

// Returns the place of the fastest: the first one that none of the others beats by more than a small part. times_ns: 0
// for those that were left out. Pure. -1: all were.
[[nodiscard]] int fastest(std::span<const double> times_ns);

}  // namespace couplet::exchange
