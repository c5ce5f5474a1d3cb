// A list in order whose elements are also found by (context, tag): by walking while the list is short, and by a table
// of chains once it is long. In the short case, and so for a single message, this costs one comparison more than a
// plain list. Tests: tests/unit/message/match_list_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "message/chain.hpp"

namespace couplet::message {

// T has context and tag, the links next and previous (in order), and the links next_alike and previous_alike (of the
// table). Context and tag do not change while the element is in the list.
template <typename T>
class MatchList {
 public:
  static constexpr std::size_t max_walked = 16;

  [[nodiscard]] T* first() const noexcept { return all_.first(); }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  static T* after(const T& element) noexcept { return All::after(element); }

  void push_back(T& element) noexcept {
    all_.push_back(element);
    ++count_;
    if (filed_ || count_ > max_walked) [[unlikely]]
      file(element);
  }
  void remove(T& element) noexcept {
    all_.remove(element);
    if (filed_) [[unlikely]]
      alike(element.context, element.tag).remove(element);
    if (--count_ == 0) filed_ = false;
  }
  T* pop_front() noexcept {
    T* element = all_.first();
    if (element != nullptr) remove(*element);
    return element;
  }
  // Returns the first element with exactly this context and tag for which `fits` returns true.
  template <typename Fits>
  [[nodiscard]] T* find(std::uint32_t context, std::int32_t tag, const Fits& fits) const noexcept {
    if (!filed_) {
      for (T* element = all_.first(); element != nullptr; element = All::after(*element)) {
        if (element->context == context && element->tag == tag && fits(*element)) return element;
      }
      return nullptr;
    }
    for (T* element = alike(context, tag).first(); element != nullptr; element = Alike::after(*element)) {
      if (element->context == context && element->tag == tag && fits(*element)) return element;
    }
    return nullptr;
  }
  // Is the list so long that the table is used?
  [[nodiscard]] bool filed() const noexcept { return filed_; }

 private:
  using All = Chain<T, &T::next, &T::previous>;
  using Alike = Chain<T, &T::next_alike, &T::previous_alike>;
  static constexpr std::size_t table_size = 256;
  using Table = std::array<Alike, table_size>;

  [[nodiscard]] Alike& alike(std::uint32_t context, std::int32_t tag) const noexcept {
    const std::uint64_t key = (std::uint64_t{context} << 32U) | static_cast<std::uint32_t>(tag);
    return (*table_)[static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> 56U)];
  }
  // Adds an element to the table. If there is no memory for the table, the list is walked.
  void file(T& newest) noexcept {
    if (filed_) return alike(newest.context, newest.tag).push_back(newest);
    if (table_ == nullptr) table_.reset(new (std::nothrow) Table);
    if (table_ == nullptr) return;
    filed_ = true;
    for (T* element = all_.first(); element != nullptr; element = All::after(*element)) {
      alike(element->context, element->tag).push_back(*element);
    }
  }

  All all_;
  std::size_t count_ = 0;
  bool filed_ = false;  // if true, the table has all elements; otherwise it has none
  std::unique_ptr<Table> table_;
};

}  // namespace couplet::message
