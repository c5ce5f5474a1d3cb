// Doubly linked lists whose links are members of the elements: nothing is allocated, and an element is removed from
// anywhere in constant time.
#pragma once

namespace couplet::message {

// Next, Previous: the link members of T that this chain uses. An element is in at most one chain for each pair of
// links.
template <typename T, T* T::*Next, T* T::*Previous>
class Chain {
 public:
  [[nodiscard]] T* first() const noexcept { return first_; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  static T* after(const T& element) noexcept { return element.*Next; }

  void push_back(T& element) noexcept {
    element.*Next = nullptr;
    element.*Previous = last_;
    (last_ != nullptr ? last_->*Next : first_) = &element;
    last_ = &element;
  }
  void remove(T& element) noexcept {
    T* next = element.*Next;
    T* previous = element.*Previous;
    (previous != nullptr ? previous->*Next : first_) = next;
    (next != nullptr ? next->*Previous : last_) = previous;
  }
  T* pop_front() noexcept {
    T* element = first_;
    if (element != nullptr) remove(*element);
    return element;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace couplet::message
