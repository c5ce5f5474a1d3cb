// Part of couplet.hpp, which programs include: exchanges of the same data with the same neighbours, again and again.
// Tests: tests/universe.
#ifndef COUPLET_COUPLET_EXCHANGE_HPP
#define COUPLET_COUPLET_EXCHANGE_HPP

#include <couplet/couplet_message.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace couplet {

/// The terms of an edge. Peer, direction and tag name it; the sender and the receiver give the same terms.
struct EdgeTerms {
  std::int32_t peer = -1;   ///< rank in the group; it may be the caller's
  std::int64_t tag = 0;     ///< tells apart the edges between two ranks
  std::string title = {};   ///< what error texts call it
  std::uint64_t every = 1;  ///< the edge takes part in the rounds offset, offset + every, ...
  std::uint64_t offset = 0;
  bool is_variable = false;  ///< the sender gives a length for each round
};

/// A box of a dense array in C order: the elements start to stop (not included) in each dimension.
struct ArrayBox {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> stop;
};

struct ExchangeOptions {
  std::string method = "auto";
  double timeout_s = 60;  ///< of freeze and close; negative: none
};

/// One rank's part in an exchange. The arrays of its edges must not move, and outlive it.
class Exchange {
 public:
  /// Creates an exchange among the ranks of the group. Errors: as couplet_exchange_create.
  Exchange(const Group& group, const std::string& name, const ExchangeOptions& options = {}) {
    couplet_exchange_options c;
    couplet_exchange_options_init(&c);
    c.method = options.method.c_str();
    c.timeout_s = options.timeout_s;
    couplet_exchange* handle = nullptr;
    detail::check(couplet_exchange_create(group.handle(), name.c_str(), &c, &handle));
    owner_ = detail::Owner<couplet_exchange, couplet_exchange_close>(handle);
  }

  /// Adds a box of an array to what is sent, and returns the number of the edge. Errors: as couplet_exchange_send_box.
  template <Element T>
  std::uint32_t send(const EdgeTerms& terms, const T* data, const ArrayBox& box) {
    check_lengths(box);
    const couplet_exchange_edge c = c_edge(terms);
    std::uint32_t number = 0;
    detail::check(couplet_exchange_send_box(handle(), &c, data, type_of<T>, static_cast<std::int32_t>(box.shape.size()),
                                            box.shape.data(), nullptr, box.start.data(), box.stop.data(), &number));
    return number;
  }
  /// Adds a box of an array to what is received, and returns the number of the edge.
  template <Element T>
    requires(!std::is_const_v<T>)
  std::uint32_t receive(const EdgeTerms& terms, T* data, const ArrayBox& box) {
    check_lengths(box);
    const couplet_exchange_edge c = c_edge(terms);
    std::uint32_t number = 0;
    detail::check(couplet_exchange_receive_box(handle(), &c, data, type_of<T>,
                                               static_cast<std::int32_t>(box.shape.size()), box.shape.data(), nullptr,
                                               box.start.data(), box.stop.data(), &number));
    return number;
  }
  /// Adds `block` elements from data + index * block on, for each index, to what is sent.
  template <Element T>
  std::uint32_t send(const EdgeTerms& terms, const T* data, std::span<const std::int64_t> indices,
                     std::uint64_t block = 1) {
    const couplet_exchange_edge c = c_edge(terms);
    std::uint32_t number = 0;
    detail::check(
        couplet_exchange_send_list(handle(), &c, data, type_of<T>, block, indices.data(), indices.size(), &number));
    return number;
  }
  /// Does the same for what is received.
  template <Element T>
    requires(!std::is_const_v<T>)
  std::uint32_t
      receive(const EdgeTerms& terms, T* data, std::span<const std::int64_t> indices, std::uint64_t block = 1) {
    const couplet_exchange_edge c = c_edge(terms);
    std::uint32_t number = 0;
    detail::check(
        couplet_exchange_receive_list(handle(), &c, data, type_of<T>, block, indices.data(), indices.size(), &number));
    return number;
  }

  /// Agrees with the other ranks on the edges and on the method. Collective. Errors: as couplet_exchange_freeze.
  void freeze() { detail::check(couplet_exchange_freeze(handle())); }
  /// Begins a round. Never blocks.
  void start() { detail::check(couplet_exchange_start(handle())); }
  /// Returns true if the round is over. Never blocks.
  bool test() {
    std::int32_t done = 0;
    detail::check(couplet_exchange_test(handle(), &done));
    return done != 0;
  }
  /// Waits until the round is over. After Error(COUPLET_ERROR_TIMEOUT) it is still under way.
  void wait(double timeout_s = for_ever) { detail::check(couplet_exchange_wait(handle(), timeout_s)); }
  /// Returns true if what the edge receives has arrived in this round.
  [[nodiscard]] bool arrived(std::uint32_t edge) const {
    std::int32_t arrived = 0;
    detail::check(couplet_exchange_arrived(handle(), edge, &arrived));
    return arrived != 0;
  }
  /// Sets how many bytes of an edge with a variable length are sent from the next round on.
  void set_length(std::uint32_t edge, std::uint64_t bytes) {
    detail::check(couplet_exchange_set_length(handle(), edge, bytes));
  }
  /// Returns the bytes that the edge moves: as set, or as arrived last.
  [[nodiscard]] std::uint64_t length(std::uint32_t edge) const {
    std::uint64_t bytes = 0;
    detail::check(couplet_exchange_length(handle(), edge, &bytes));
    return bytes;
  }
  /// Returns the name of the method, or "" before the exchange is frozen.
  [[nodiscard]] std::string method() const {
    const char* name = nullptr;
    detail::check(couplet_exchange_method(handle(), &name));
    return name;
  }
  /// Returns a table of the methods, their times in the trials, and why others were left out.
  [[nodiscard]] std::string explain() const {
    std::size_t needed = 0;
    detail::check(couplet_exchange_explain(handle(), nullptr, 0, &needed));
    std::string text(needed, '\0');
    detail::check(couplet_exchange_explain(handle(), text.data(), text.size(), &needed));
    text.resize(needed - 1);
    return text;
  }
  /// Closes the exchange, and throws the errors that the destructor would ignore.
  void close() { detail::check(couplet_exchange_close(owner_.release())); }
  [[nodiscard]] couplet_exchange* handle() const noexcept { return owner_.get(); }

 private:
  static couplet_exchange_edge c_edge(const EdgeTerms& terms) {
    couplet_exchange_edge c;
    couplet_exchange_edge_init(&c);
    c.title = terms.title.c_str();
    c.tag = terms.tag;
    c.every = terms.every;
    c.offset = terms.offset;
    c.peer = terms.peer;
    c.is_variable = terms.is_variable ? 1 : 0;
    return c;
  }
  static void check_lengths(const ArrayBox& box) {
    if (box.start.size() == box.shape.size() && box.stop.size() == box.shape.size()) return;
    throw Error(COUPLET_ERROR_ARGUMENT, "a box has " + std::to_string(box.shape.size()) + " extents, " +
                                            std::to_string(box.start.size()) + " starts and " +
                                            std::to_string(box.stop.size()) + " stops");
  }

  detail::Owner<couplet_exchange, couplet_exchange_close> owner_;
};

}  // namespace couplet

#endif
