// Part of couplet.hpp, which programs include: errors, data types, groups, messages and requests.
// Tests: tests/languages.
#ifndef COUPLET_COUPLET_MESSAGE_HPP
#define COUPLET_COUPLET_MESSAGE_HPP

#include <couplet/couplet.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace couplet {

// ---- errors ---------------------------------------------------------------------------------------------------------

/// The exception for a negative status. what() is a sentence that names program, rank, host, series and step.
class Error : public std::runtime_error {
 public:
  Error(couplet_status code, const std::string& text) : std::runtime_error(text), code_(code) {}
  [[nodiscard]] couplet_status code() const noexcept { return code_; }
  [[nodiscard]] const char* name() const noexcept { return couplet_status_name(code_); }

 private:
  couplet_status code_;
};

namespace detail {

[[noreturn]] inline void raise(couplet_status status) {
  const char* text = couplet_error_text();
  throw Error(status, text != nullptr && *text != '\0' ? text : couplet_status_name(status));
}
/// Throws errors, and COUPLET_INTERRUPTED, which the thread's own interrupt check has caused. Returns the other
/// answers.
inline couplet_status check(couplet_status status) {
  if (status < 0 || status == COUPLET_INTERRUPTED) {
    raise(status);
  }
  return status;
}
inline const char* text_or_null(const std::string& text) noexcept {
  return text.empty() ? nullptr : text.c_str();
}

/// Owns one handle, and calls Close with it in the destructor.
template <class Handle, couplet_status (*Close)(Handle*)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle* handle) noexcept : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (handle_ != nullptr) {
      static_cast<void>(Close(handle_));
    }
  }
  [[nodiscard]] Handle* get() const noexcept { return handle_; }
  [[nodiscard]] Handle* release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  Handle* handle_ = nullptr;
};

}  // namespace detail

// ---- data types -----------------------------------------------------------------------------------------------------

namespace detail {
template <class T>
constexpr couplet_type find_type() {
  if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, char>) {
    return COUPLET_BYTE;
  } else if constexpr (std::is_same_v<T, float>) {
    return COUPLET_FLOAT;
  } else if constexpr (std::is_same_v<T, double>) {
    return COUPLET_DOUBLE;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return COUPLET_COMPLEX_FLOAT;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return COUPLET_COMPLEX_DOUBLE;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8) {
    constexpr couplet_type of_size = sizeof(T) == 1   ? COUPLET_INT8
                                     : sizeof(T) == 2 ? COUPLET_INT16
                                     : sizeof(T) == 4 ? COUPLET_INT32
                                                      : COUPLET_INT64;
    return std::is_signed_v<T> ? of_size : of_size + (COUPLET_UINT8 - COUPLET_INT8);
  } else {
    return -1;
  }
}
}  // namespace detail

/// The couplet_type of a C++ type. It does not compile for a type that has none. char and std::byte are opaque bytes.
template <class T>
inline constexpr couplet_type type_of = detail::find_type<std::remove_cv_t<T>>();

template <class T>
concept Element = type_of<T> >= 0;

/// A half-open range [start, stop) in each dimension.
struct Box {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> stop;
};

// ---- messages -------------------------------------------------------------------------------------------------------

using Message = couplet_message;
inline constexpr std::int32_t any_source = COUPLET_ANY_SOURCE;
inline constexpr std::int32_t any_tag = COUPLET_ANY_TAG;
inline constexpr double for_ever = -1.0;

/// A non-blocking call that may still be under way. Its buffer must stay valid until it is complete. As in MPI, a call
/// cannot be cancelled: if a pending Request is destroyed, the call still goes on.
class Request {
 public:
  Request() = default;
  explicit Request(couplet_request* handle) noexcept : handle_(handle) {}
  Request(Request&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() = default;

  [[nodiscard]] bool pending() const noexcept { return handle_ != nullptr; }
  /// Waits until the call is complete. After Error(COUPLET_ERROR_TIMEOUT) it is still pending.
  Message wait(double timeout_s = for_ever) {
    Message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
    detail::check(couplet_wait(&handle_, timeout_s, &message));
    return message;
  }
  /// Returns the message if the call is complete, else nothing. Never blocks.
  std::optional<Message> test() {
    Message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
    std::int32_t done = 0;
    detail::check(couplet_test(&handle_, &done, &message));
    return done != 0 ? std::optional<Message>(message) : std::nullopt;
  }
  [[nodiscard]] couplet_request* handle() const noexcept { return handle_; }
  /// Takes over the handle that a C call has changed. For wait_all and wait_any.
  void reset(couplet_request* handle) noexcept { handle_ = handle; }

 private:
  couplet_request* handle_ = nullptr;
};

/// Waits until all calls are complete, and then throws the first error in the order of `requests`.
inline std::vector<Message> wait_all(std::span<Request> requests, double timeout_s = for_ever) {
  std::vector<couplet_request*> handles;
  for (const Request& request : requests) {
    handles.push_back(request.handle());
  }
  std::vector<Message> messages(requests.size(), Message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0});
  const couplet_status status =
      couplet_waitall(static_cast<std::int32_t>(handles.size()), handles.data(), timeout_s, nullptr, messages.data());
  for (std::size_t i = 0; i < handles.size(); ++i) {
    requests[i].reset(handles[i]);
  }
  detail::check(status);
  return messages;
}

/// The result of wait_any.
struct AnyDone {
  std::int32_t index;  ///< index of the completed request; -1 if none is pending
  Message message;
};
/// Waits until one of the calls is complete, and says which one.
inline AnyDone wait_any(std::span<Request> requests, double timeout_s = for_ever) {
  std::vector<couplet_request*> handles;
  for (const Request& request : requests) {
    handles.push_back(request.handle());
  }
  AnyDone done{-1, Message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0}};
  const couplet_status status =
      couplet_waitany(static_cast<std::int32_t>(handles.size()), handles.data(), timeout_s, &done.index, &done.message);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    requests[i].reset(handles[i]);
  }
  detail::check(status);
  return done;
}

/// An ordered set of ranks. A copy refers to the same group. The universe owns the group; free() ends a group that
/// create_group has made.
class Group {
 public:
  Group() = default;
  explicit Group(couplet_group* handle) noexcept : handle_(handle) {}

  /// Returns the caller's rank in the group, or -1 if it is not a member.
  [[nodiscard]] std::int32_t rank() const { return rank_and_size().first; }
  /// Returns the number of ranks.
  [[nodiscard]] std::int32_t size() const { return rank_and_size().second; }

  /// Sends `data` to rank `target` of the group. Blocking: until `data` may be changed again. Errors: as couplet_send.
  template <Element T>
  void send(std::span<const T> data, std::int32_t target, std::int32_t tag) const {
    detail::check(couplet_send(handle_, data.data(), data.size(), type_of<T>, target, tag));
  }
  /// Receives a message of at most data.size() elements. Blocking: until it has arrived. Errors: as couplet_recv.
  template <Element T>
    requires(!std::is_const_v<T>)
  Message recv(std::span<T> data, std::int32_t source = any_source, std::int32_t tag = any_tag) const {
    Message message{COUPLET_ANY_SOURCE, COUPLET_ANY_TAG, 0, 0};
    detail::check(couplet_recv(handle_, data.data(), data.size(), type_of<T>, source, tag, &message));
    return message;
  }
  /// Starts a send, as send(), without waiting.
  template <Element T>
  [[nodiscard]] Request isend(std::span<const T> data, std::int32_t target, std::int32_t tag) const {
    couplet_request* request = nullptr;
    detail::check(couplet_isend(handle_, data.data(), data.size(), type_of<T>, target, tag, &request));
    return Request(request);
  }
  /// Starts a receive, as recv(), without waiting.
  template <Element T>
    requires(!std::is_const_v<T>)
  [[nodiscard]] Request irecv(std::span<T> data, std::int32_t source = any_source, std::int32_t tag = any_tag) const {
    couplet_request* request = nullptr;
    detail::check(couplet_irecv(handle_, data.data(), data.size(), type_of<T>, source, tag, &request));
    return Request(request);
  }
  // The following functions do the same for a vector, or for one value.
  template <Element T>
  void send(const std::vector<T>& data, std::int32_t target, std::int32_t tag) const {
    send(std::span<const T>(data), target, tag);
  }
  template <Element T>
  void send(const T& value, std::int32_t target, std::int32_t tag) const {
    send(std::span<const T>(&value, 1), target, tag);
  }
  template <Element T>
  Message recv(std::vector<T>& data, std::int32_t source = any_source, std::int32_t tag = any_tag) const {
    return recv(std::span<T>(data), source, tag);
  }
  template <Element T>
  Message recv(T& value, std::int32_t source = any_source, std::int32_t tag = any_tag) const {
    return recv(std::span<T>(&value, 1), source, tag);
  }

  /// Frees a group of create_group. The object then has no group.
  void free() { detail::check(couplet_group_free(std::exchange(handle_, nullptr))); }
  [[nodiscard]] couplet_group* handle() const noexcept { return handle_; }

 private:
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> rank_and_size() const {
    std::pair<std::int32_t, std::int32_t> both{-1, 0};
    detail::check(couplet_group_rank(handle_, &both.first, &both.second));
    return both;
  }
  couplet_group* handle_ = nullptr;
};

}  // namespace couplet

#endif
