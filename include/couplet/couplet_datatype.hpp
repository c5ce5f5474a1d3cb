// Part of couplet.hpp, which programs include: types of items that do not lie in memory one element after the other.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_DATATYPE_HPP
#define COUPLET_COUPLET_DATATYPE_HPP

#include <couplet/couplet_message.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace couplet {

/// A type of items with gaps, which is made of an element type (type_of<double>) or of another datatype. It is given to
/// send_items, recv_items, isend_items and irecv_items. The object frees its type when it ends; messages that are under
/// way, and types that were made of it, are not concerned.
class Datatype {
 public:
  /// `count` items, one after the other. Errors: as couplet_type_create_contiguous.
  [[nodiscard]] static Datatype contiguous(std::uint64_t count, couplet_type of) {
    return make([&](couplet_type* made) { return couplet_type_create_contiguous(count, of, made); });
  }
  /// `count` blocks of `block` items, `stride` items apart. Errors: as couplet_type_create_vector.
  [[nodiscard]] static Datatype vector(std::uint64_t count, std::uint64_t block, std::int64_t stride, couplet_type of) {
    return make([&](couplet_type* made) { return couplet_type_create_vector(count, block, stride, of, made); });
  }
  /// Blocks of blocks[i] items that begin displacements[i] items after the start. Errors: as
  /// couplet_type_create_indexed, and COUPLET_ERROR_ARGUMENT if both have not the same size.
  [[nodiscard]] static Datatype indexed(std::span<const std::uint64_t> blocks,
                                        std::span<const std::int64_t> displacements, couplet_type of) {
    check_sizes(blocks.size() == displacements.size());
    return make([&](couplet_type* made) {
      return couplet_type_create_indexed(blocks.size(), blocks.data(), displacements.data(), of, made);
    });
  }
  /// The part of an array, in C order, that has subsizes[d] items from starts[d] on in each dimension d. Errors: as
  /// couplet_type_create_subarray, and COUPLET_ERROR_ARGUMENT if the three have not the same size.
  [[nodiscard]] static Datatype subarray(std::span<const std::uint64_t> sizes, std::span<const std::uint64_t> subsizes,
                                         std::span<const std::uint64_t> starts, couplet_type of) {
    check_sizes(sizes.size() == subsizes.size() && sizes.size() == starts.size());
    return make([&](couplet_type* made) {
      return couplet_type_create_subarray(static_cast<std::int32_t>(sizes.size()), sizes.data(), subsizes.data(),
                                          starts.data(), of, made);
    });
  }
  /// Blocks of blocks[i] items of types[i] that begin displacements[i] bytes after the start. Errors: as
  /// couplet_type_create_struct, and COUPLET_ERROR_ARGUMENT if the three have not the same size.
  [[nodiscard]] static Datatype structure(std::span<const std::uint64_t> blocks,
                                          std::span<const std::int64_t> displacements,
                                          std::span<const couplet_type> types) {
    check_sizes(blocks.size() == displacements.size() && blocks.size() == types.size());
    return make([&](couplet_type* made) {
      return couplet_type_create_struct(blocks.size(), blocks.data(), displacements.data(), types.data(), made);
    });
  }
  /// The same elements; in an array, items are `extent` bytes apart. Errors: as couplet_type_create_resized.
  [[nodiscard]] static Datatype resized(couplet_type of, std::int64_t lower_bound, std::uint64_t extent) {
    return make([&](couplet_type* made) { return couplet_type_create_resized(of, lower_bound, extent, made); });
  }

  Datatype(Datatype&& other) noexcept : type_(std::exchange(other.type_, -1)) {}
  Datatype& operator=(Datatype&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  ~Datatype() {
    if (type_ >= 0) {
      static_cast<void>(couplet_type_free(&type_));
    }
  }

  /// The handle, to make other types of it.
  [[nodiscard]] couplet_type handle() const noexcept { return type_; }
  /// The bytes of the elements of one item.
  [[nodiscard]] std::size_t bytes() const noexcept { return couplet_type_bytes(type_); }
  /// The bytes from one item of an array to the next.
  [[nodiscard]] std::uint64_t extent() const {
    std::uint64_t bytes = 0;
    detail::check(couplet_type_extent(type_, nullptr, &bytes));
    return bytes;
  }

 private:
  explicit Datatype(couplet_type type) noexcept : type_(type) {}
  template <class Make>
  static Datatype make(const Make& create) {
    couplet_type made = -1;
    detail::check(create(&made));
    return Datatype(made);
  }
  static void check_sizes(bool are_equal) {
    if (!are_equal) {
      throw Error(COUPLET_ERROR_ARGUMENT, "Datatype: the lists have not the same size");
    }
  }

  couplet_type type_ = -1;
};

/// Sends `count` items that begin at `data`. Otherwise as Group::send.
inline void send_items(const Group& group, const void* data, std::uint64_t count, const Datatype& type,
                       std::int32_t target, std::int32_t tag) {
  detail::check(couplet_send(group.handle(), data, count, type.handle(), target, tag));
}
/// Receives at most `count` items to where `data` begins. Message::count says how many whole items have come.
inline Message recv_items(const Group& group, void* data, std::uint64_t count, const Datatype& type,
                          std::int32_t source = any_source, std::int32_t tag = any_tag) {
  Message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
  detail::check(couplet_recv(group.handle(), data, count, type.handle(), source, tag, &message));
  return message;
}
/// Starts a send, as send_items(), without waiting.
[[nodiscard]] inline Request isend_items(const Group& group, const void* data, std::uint64_t count,
                                         const Datatype& type, std::int32_t target, std::int32_t tag) {
  couplet_request* request = nullptr;
  detail::check(couplet_isend(group.handle(), data, count, type.handle(), target, tag, &request));
  return Request(request);
}
/// Starts a receive, as recv_items(), without waiting.
[[nodiscard]] inline Request irecv_items(const Group& group, void* data, std::uint64_t count, const Datatype& type,
                                         std::int32_t source = any_source, std::int32_t tag = any_tag) {
  couplet_request* request = nullptr;
  detail::check(couplet_irecv(group.handle(), data, count, type.handle(), source, tag, &request));
  return Request(request);
}

}  // namespace couplet

#endif
