// Part of couplet.hpp, which programs include: coalesced communication, in which many clients share one message for
// each neighbour and one wait for each phase. Tests: tests/universe.
#ifndef COUPLET_COUPLET_COALESCE_HPP
#define COUPLET_COUPLET_COALESCE_HPP

#include <couplet/couplet_coalesce.h>

#include <concepts>
#include <couplet/couplet_exchange.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace couplet {

/// When and for what a client is called.
struct Moment {
  std::uint64_t round = 0;
  std::int32_t phase = 0;
  std::int32_t peer = -1;  ///< for arrived(): the rank from which everything for this client is here
};

/// The terms of a request. Client, phase, peer, direction and tag name it; the sender and the receiver give the same.
struct RequestTerms {
  std::int32_t peer = -1;   ///< rank in the group; it may be the caller's
  std::int64_t tag = 0;     ///< the client's own
  std::string title = {};   ///< what error texts call it
  std::uint64_t every = 1;  ///< the request takes part in the rounds offset, offset + every, ...
  std::uint64_t offset = 0;
  std::int32_t phase = 0;
  bool is_variable = false;  ///< the sender gives a length for each round
  bool is_optional = false;  ///< nothing is sent in a round in which the sender gives no length
};

/// The terms of a broadcast or reduction that moves one level of a tree in each round.
struct PhasedTerms {
  std::string name;
  std::uint64_t every = 1;  ///< one may begin in the rounds 0, every, 2 x every, ...
  std::int32_t phase = 0;
  std::int32_t root = 0;
  std::int32_t arity = 2;
};

struct CoalesceOptions {
  std::string method = "auto";
  double timeout_s = 60;  ///< limits a freeze, an amendment or a close; negative: no limit
  std::int32_t phase_count = 1;
  bool merge_waits = true;       ///< one wait for each phase; otherwise one for each client in it
  bool merge_messages = true;    ///< one message for each neighbour; otherwise one for each client and neighbour
  std::uint64_t max_events = 0;  ///< the timeline ends after as many; 0: there is none
};

class StepManager;

/// A part of a program that communicates in rounds. An exception that leaves one of its functions ends the rounds of
/// all ranks, and leaves StepManager::round here.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  /// What is sent in this phase is written, and lengths are set.
  virtual void fill(const Moment& /*moment*/) {}
  /// Everything is under way: what needs nothing of it is computed.
  virtual void overlap(const Moment& /*moment*/) {}
  /// Returns true if arrived() is to be called.
  [[nodiscard]] virtual bool hears_arrivals() const { return false; }
  /// Everything that moment.peer sends to this client in this phase is here.
  virtual void arrived(const Moment& /*moment*/) {}
  /// Everything is here.
  virtual void use(const Moment& /*moment*/) {}
  /// The last phase is over.
  virtual void end_round(const Moment& /*moment*/) {}
};

namespace detail {

// Is that stage of T the one of Client, which does nothing? False if T has several functions of that name, or a private
// one.
using ClientStage = void (Client::*)(const Moment&);
template <typename T>
concept inherits_fill = requires {
                          { &T::fill } -> std::same_as<ClientStage>;
                        };
template <typename T>
concept inherits_overlap = requires {
                             { &T::overlap } -> std::same_as<ClientStage>;
                           };
template <typename T>
concept inherits_use = requires {
                         { &T::use } -> std::same_as<ClientStage>;
                       };
template <typename T>
concept inherits_end_round = requires {
                               { &T::end_round } -> std::same_as<ClientStage>;
                             };

}  // namespace detail

/// One rank's part in coalesced rounds. Clients, their arrays and the group's universe outlive it.
class StepManager {
 public:
  /// Creates a manager among the ranks of the group. Errors: as couplet_coalesce_create.
  StepManager(const Group& group, const std::string& name, const CoalesceOptions& options = {})
      : state_(std::make_unique<State>()) {
    couplet_coalesce_options c;
    couplet_coalesce_options_init(&c);
    c.method = options.method.c_str();
    c.timeout_s = options.timeout_s;
    c.phase_count = options.phase_count;
    c.merge_waits = options.merge_waits ? 1 : 0;
    c.merge_messages = options.merge_messages ? 1 : 0;
    c.max_events = options.max_events;
    couplet_coalesce* handle = nullptr;
    detail::check(couplet_coalesce_create(group.handle(), name.c_str(), &c, &handle));
    owner_ = detail::Owner<couplet_coalesce, couplet_coalesce_close>(handle);
  }

  /// Registers a client, and returns its number. Clients are called in this order, which is the same on all ranks. If
  /// its class is final, a stage that it does not override costs nothing.
  template <std::derived_from<Client> T>
  std::int32_t add(const std::string& name, T& client) {
    auto& entry = *state_->entries.emplace_back(std::make_unique<Entry>(Entry{&client, {}, {}, *state_}));
    constexpr bool is_known = std::is_final_v<T>;  // otherwise a derived class may override more
    couplet_coalesce_client c;
    couplet_coalesce_client_init(&c);
    c.name = name.c_str();
    if (!is_known || !detail::inherits_fill<T>) c.fill = call<&Client::fill>;
    if (!is_known || !detail::inherits_overlap<T>) c.overlap = call<&Client::overlap>;
    if (client.hears_arrivals()) c.arrived = call<&Client::arrived>;
    if (!is_known || !detail::inherits_use<T>) c.use = call<&Client::use>;
    if (!is_known || !detail::inherits_end_round<T>) c.end_round = call<&Client::end_round>;
    c.context = &entry;
    std::int32_t number = 0;
    detail::check(couplet_coalesce_register(handle(), &c, &number));
    return number;
  }
  /// The client takes part until the next amendment, and no longer.
  void remove(std::int32_t client) { detail::check(couplet_coalesce_remove(handle(), client)); }

  /// Declares that a client sends a box of an array, and returns the number of the request.
  template <Element T>
  std::uint32_t send(std::int32_t client, const RequestTerms& terms, const T* data, const ArrayBox& box) {
    const couplet_coalesce_request c = c_terms(terms);
    std::uint32_t number = 0;
    check_lengths(box);
    detail::check(couplet_coalesce_send_box(handle(), client, &c, data, type_of<T>, dimensions(box), box.shape.data(),
                                            nullptr, box.start.data(), box.stop.data(), &number));
    return number;
  }
  /// Declares that a client receives a box of an array, and returns the number of the request.
  template <Element T>
    requires(!std::is_const_v<T>)
  std::uint32_t receive(std::int32_t client, const RequestTerms& terms, T* data, const ArrayBox& box) {
    const couplet_coalesce_request c = c_terms(terms);
    std::uint32_t number = 0;
    check_lengths(box);
    detail::check(couplet_coalesce_receive_box(handle(), client, &c, data, type_of<T>, dimensions(box),
                                               box.shape.data(), nullptr, box.start.data(), box.stop.data(), &number));
    return number;
  }
  /// Does the same for `block` elements from data + index * block on, for each index.
  template <Element T>
  std::uint32_t send(std::int32_t client, const RequestTerms& terms, const T* data,
                     std::span<const std::int64_t> indices, std::uint64_t block = 1) {
    const couplet_coalesce_request c = c_terms(terms);
    std::uint32_t number = 0;
    detail::check(couplet_coalesce_send_list(handle(), client, &c, data, type_of<T>, block, indices.data(),
                                             indices.size(), &number));
    return number;
  }
  template <Element T>
    requires(!std::is_const_v<T>)
  std::uint32_t receive(std::int32_t client, const RequestTerms& terms, T* data, std::span<const std::int64_t> indices,
                        std::uint64_t block = 1) {
    const couplet_coalesce_request c = c_terms(terms);
    std::uint32_t number = 0;
    detail::check(couplet_coalesce_receive_list(handle(), client, &c, data, type_of<T>, block, indices.data(),
                                                indices.size(), &number));
    return number;
  }

  /// Registers a broadcast of at most `capacity` elements. give: called at the root; writes a value, and returns how
  /// many elements it has, or nothing. take: called with the round in which it was given, and the value.
  template <Element T>
  std::int32_t add_broadcast(const PhasedTerms& terms, std::uint64_t capacity,
                             std::function<std::optional<std::size_t>(std::uint64_t, std::span<T>)> give,
                             std::function<void(std::uint64_t, std::span<const T>)> take) {
    auto& entry = add_entry();
    entry.give = [give = std::move(give)](std::uint64_t round, void* data, std::uint64_t& bytes) {
      const auto count = give(round, std::span<T>(static_cast<T*>(data), bytes / sizeof(T)));
      if (count) bytes = *count * sizeof(T);
      return count.has_value();
    };
    entry.take = [take = std::move(take)](std::uint64_t began, std::uint64_t, const void* data, std::uint64_t bytes) {
      take(began, std::span<const T>(static_cast<const T*>(data), bytes / sizeof(T)));
    };
    const couplet_coalesce_phased c = c_terms(terms, entry);
    std::int32_t number = 0;
    detail::check(couplet_coalesce_add_broadcast(handle(), &c, capacity * sizeof(T), &number));
    return number;
  }
  /// Registers a reduction of arrays of `count` elements. give: writes this rank's value, and returns true; or false,
  /// if it has none. take: called at the root, or at all ranks with to_all: the round, how many have given, the result.
  template <Element T>
  std::int32_t add_reduction(const PhasedTerms& terms, couplet_operation operation, std::uint64_t count, bool to_all,
                             std::function<bool(std::uint64_t, std::span<T>)> give,
                             std::function<void(std::uint64_t, std::uint64_t, std::span<const T>)> take) {
    auto& entry = add_entry();
    entry.give = [give = std::move(give)](std::uint64_t round, void* data, std::uint64_t& bytes) {
      return give(round, std::span<T>(static_cast<T*>(data), bytes / sizeof(T)));
    };
    entry.take = [take = std::move(take)](std::uint64_t began, std::uint64_t givers, const void* data,
                                          std::uint64_t bytes) {
      take(began, givers, std::span<const T>(static_cast<const T*>(data), bytes / sizeof(T)));
    };
    const couplet_coalesce_phased c = c_terms(terms, entry);
    std::int32_t number = 0;
    detail::check(couplet_coalesce_add_reduction(handle(), &c, operation, type_of<T>, count, to_all ? 1 : 0, &number));
    return number;
  }

  /// Agrees with the other ranks on clients and requests. Collective. Errors: as couplet_coalesce_freeze.
  void freeze() { detail::check(couplet_coalesce_freeze(handle())); }
  /// Does the same for what has changed since; it takes effect when the round `from_round` begins. Collective.
  void amend(std::uint64_t from_round) { detail::check(couplet_coalesce_amend(handle(), from_round)); }
  /// Runs a round. After Error(COUPLET_ERROR_TIMEOUT) it is still under way: call it again. Throws what a client of
  /// this rank has thrown.
  void round(double timeout_s = for_ever) {
    const couplet_status status = couplet_coalesce_round(handle(), timeout_s);
    if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
    detail::check(status);
  }
  /// Returns the number of the round that is under way, or comes next.
  [[nodiscard]] std::uint64_t round_number() const {
    std::uint64_t round = 0;
    detail::check(couplet_coalesce_round_number(handle(), &round));
    return round;
  }
  /// Sets how many bytes of a request are sent in this round, within the fill of its phase.
  void set_length(std::uint32_t request, std::uint64_t bytes) {
    detail::check(couplet_coalesce_set_length(handle(), request, bytes));
  }
  /// Returns the bytes that a request moves in this round; 0: nothing.
  [[nodiscard]] std::uint64_t length(std::uint32_t request) const {
    std::uint64_t bytes = 0;
    detail::check(couplet_coalesce_length(handle(), request, &bytes));
    return bytes;
  }
  /// Returns messages, bytes and waits of this rank as a table, as JSON, or what it did when (COUPLET_COALESCE_*).
  [[nodiscard]] std::string report(std::int32_t form = COUPLET_COALESCE_TABLE) const {
    std::size_t needed = 0;
    detail::check(couplet_coalesce_report(handle(), form, nullptr, 0, &needed));
    std::string text(needed, '\0');
    detail::check(couplet_coalesce_report(handle(), form, text.data(), text.size(), &needed));
    text.resize(needed - 1);
    return text;
  }
  /// Closes the rounds, and throws the errors that the destructor would ignore.
  void close() { detail::check(couplet_coalesce_close(owner_.release())); }
  [[nodiscard]] couplet_coalesce* handle() const noexcept { return owner_.get(); }

 private:
  struct State;
  // What the library calls for one client.
  struct Entry {
    Client* client;
    std::function<bool(std::uint64_t, void*, std::uint64_t&)> give;
    std::function<void(std::uint64_t, std::uint64_t, const void*, std::uint64_t)> take;
    State& state;
  };
  struct State {
    std::vector<std::unique_ptr<Entry>> entries;
    std::exception_ptr thrown;
  };

  // Runs `body`, and keeps what it throws, since no exception may pass through the library.
  template <typename Body>
  static couplet_status guarded(State& state, const Body& body) noexcept {
    try {
      body();
      return COUPLET_OK;
    } catch (const Error& error) {
      state.thrown = std::current_exception();
      return couplet_coalesce_fail(error.code(), error.what());
    } catch (const std::exception& error) {
      state.thrown = std::current_exception();
      return couplet_coalesce_fail(COUPLET_ERROR_STATE, error.what());
    } catch (...) {
      state.thrown = std::current_exception();
      return couplet_coalesce_fail(COUPLET_ERROR_STATE, "it has thrown something that is no std::exception");
    }
  }
  template <void (Client::*stage)(const Moment&)>
  static couplet_status call(const couplet_coalesce_moment* moment, void* context) noexcept {
    const Entry& entry = *static_cast<const Entry*>(context);
    return guarded(entry.state, [&] { (entry.client->*stage)({moment->round, moment->phase, moment->peer}); });
  }
  static couplet_status give(std::uint64_t round, void* data, std::uint64_t* bytes, std::int32_t* given,
                             void* context) noexcept {
    const Entry& entry = *static_cast<const Entry*>(context);
    return guarded(entry.state, [&] { *given = entry.give(round, data, *bytes) ? 1 : 0; });
  }
  static couplet_status take(std::uint64_t began, std::uint64_t givers, const void* data, std::uint64_t bytes,
                             void* context) noexcept {
    const Entry& entry = *static_cast<const Entry*>(context);
    return guarded(entry.state, [&] { entry.take(began, givers, data, bytes); });
  }

  Entry& add_entry() { return *state_->entries.emplace_back(std::make_unique<Entry>(Entry{nullptr, {}, {}, *state_})); }
  static couplet_coalesce_phased c_terms(const PhasedTerms& terms, Entry& entry) {
    couplet_coalesce_phased c;
    couplet_coalesce_phased_init(&c);
    c.name = terms.name.c_str();
    c.give = give;
    c.take = take;
    c.context = &entry;
    c.every = terms.every;
    c.phase = terms.phase;
    c.root = terms.root;
    c.arity = terms.arity;
    return c;
  }
  static couplet_coalesce_request c_terms(const RequestTerms& terms) {
    couplet_coalesce_request c;
    couplet_coalesce_request_init(&c);
    c.title = terms.title.c_str();
    c.tag = terms.tag;
    c.every = terms.every;
    c.offset = terms.offset;
    c.peer = terms.peer;
    c.phase = terms.phase;
    c.is_variable = terms.is_variable ? 1 : 0;
    c.is_optional = terms.is_optional ? 1 : 0;
    return c;
  }
  static std::int32_t dimensions(const ArrayBox& box) { return static_cast<std::int32_t>(box.shape.size()); }
  static void check_lengths(const ArrayBox& box) {
    if (box.start.size() == box.shape.size() && box.stop.size() == box.shape.size()) return;
    throw Error(COUPLET_ERROR_ARGUMENT, "a box has " + std::to_string(box.shape.size()) + " extents, " +
                                            std::to_string(box.start.size()) + " starts and " +
                                            std::to_string(box.stop.size()) + " stops");
  }

  std::unique_ptr<State> state_;  // keeps its address when the manager is moved
  detail::Owner<couplet_coalesce, couplet_coalesce_close> owner_;
};

}  // namespace couplet

#endif
