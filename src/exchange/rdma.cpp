#include "exchange/rdma.hpp"

#include <utility>
#include <vector>

#include "exchange/rdma_window.hpp"

namespace couplet::exchange {
namespace {

using Word = RdmaWindow::Word;

constexpr std::size_t half_of(std::uint64_t number) noexcept {
  return number % RdmaWindow::half_count;
}

// What both methods have in common.
class Rdma : public Method {
 public:
  Rdma(std::string_view name, std::unique_ptr<RdmaWindow> window)
      : name_(name), window_(std::move(window)), arrived_(window_->port_count()) {}

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  // UCX may move what was put only while its target calls it.
  [[nodiscard]] bool is_driven() const noexcept override { return true; }
  [[nodiscard]] bool has_arrived(std::uint32_t port) const override { return arrived_[port].is_here; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t port) const override {
    return arrived_[port].message;
  }
  // A put wakes nobody, so the caller only naps.
  bool before_sleep(Sleep& sleep) override {
    sleep = {};
    return true;
  }
  void after_sleep() noexcept override {}

  // Each member tells its neighbours that it puts nothing further, and waits until they have said so.
  Result<bool> close() override {
    if (!std::exchange(has_said_closing_, true)) {
      COUPLET_TRY(window_->fence());
      for (std::uint32_t port = 0; port < window_->port_count(); ++port) {
        COUPLET_TRY(window_->put_word(port, Word::closing, 1));
        COUPLET_TRY(window_->flush(port));
      }
    }
    COUPLET_TRY(window_->progress());
    for (std::uint32_t port = 0; port < window_->port_count(); ++port) {
      if (window_->word(port, Word::closing) == 0) return false;
    }
    if (!window_->is_idle()) return false;
    window_->no_longer_shared();
    return true;
  }
  // The window leaves to the worker what UCX may still use.
  bool abandon() noexcept override { return true; }

 protected:
  [[nodiscard]] RdmaWindow& window() const noexcept { return *window_; }
  void await(std::span<const std::uint32_t> receiving) noexcept {
    for (const std::uint32_t port : receiving) arrived_[port] = {};
  }
  Status take(std::uint32_t port, std::size_t half) {
    auto message = window_->incoming(port, half);
    if (!message.ok()) return message.status().within(name_);
    arrived_[port] = {.is_here = true, .message = *message};
    return {};
  }

 private:
  struct Arrival {
    bool is_here = false;
    std::span<const std::byte> message;
  };
  std::string_view name_;
  std::unique_ptr<RdmaWindow> window_;
  std::vector<Arrival> arrived_;
  bool has_said_closing_ = false;
};

// Why two halves suffice is said in exchange/mpi/flagged.hpp, and checked by tests/model/halves.pml.
class RdmaFlag final : public Rdma {
 public:
  explicit RdmaFlag(std::unique_ptr<RdmaWindow> made) : Rdma("rdma_flag", std::move(made)) {
    counts_.resize(window().port_count());
  }

  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override {
    sending_ = sending;
    receiving_ = receiving;
    awaited_ = receiving.size();
    await(receiving);
    return {};
  }
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override {
    const Counts& one = counts_[port];
    const bool is_free =
        window().port(port).is_paired || one.sent < window().word(port, Word::credit) + RdmaWindow::half_count;
    return is_free ? window().outgoing(port) : nullptr;
  }
  Status send(std::uint32_t port, std::uint64_t bytes) override {
    Counts& one = counts_[port];
    return window().put(port, half_of(one.sent++), bytes);
  }
  // Every message first, then one fence, then each flag.
  Status all_sent() override {
    if (sending_.empty()) return {};
    COUPLET_TRY(window().fence());
    for (const std::uint32_t port : sending_) {
      const std::uint64_t number = counts_[port].sent;
      COUPLET_TRY(window().put_word(port, half_of(number - 1) == 0 ? Word::flag_0 : Word::flag_1, number));
    }
    return {};
  }
  Status poll() override {
    const std::size_t before = awaited_;
    if (awaited_ > 0) COUPLET_TRY(look());
    return awaited_ == before ? window().progress() : Status();
  }
  [[nodiscard]] bool is_complete() const override { return window().is_idle(); }
  Status end() override {
    bool is_ordered = false;
    for (const std::uint32_t port : receiving_) {
      ++counts_[port].consumed;
      if (window().port(port).is_paired) continue;
      if (!std::exchange(is_ordered, true)) COUPLET_TRY(window().fence());
      COUPLET_TRY(window().put_word(port, Word::credit, counts_[port].consumed));
    }
    awaited_ = 0;
    return {};
  }

 private:
  struct Counts {
    std::uint64_t sent = 0;      // messages, in this and earlier rounds
    std::uint64_t consumed = 0;  // messages, in earlier rounds
  };
  Status look() {
    for (const std::uint32_t port : receiving_) {
      if (has_arrived(port)) continue;
      const std::uint64_t due = counts_[port].consumed;
      const std::uint64_t found = window().word(port, half_of(due) == 0 ? Word::flag_0 : Word::flag_1);
      if (found < due + 1) continue;
      if (found > due + 1) {
        return fail(Code::protocol, "rdma_flag: member {} has sent message {}, but message {} is due",
                    window().port(port).peer, found - 1, due);
      }
      COUPLET_TRY(take(port, half_of(due)));
      --awaited_;
    }
    return {};
  }

  std::vector<Counts> counts_;
  std::span<const std::uint32_t> sending_;
  std::span<const std::uint32_t> receiving_;
  std::size_t awaited_ = 0;  // ports whose message has not arrived
};

class RdmaBarrier final : public Rdma {
 public:
  explicit RdmaBarrier(std::unique_ptr<RdmaWindow> made) : Rdma("rdma_barrier", std::move(made)) {}

  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override {
    sending_ = sending;
    receiving_ = receiving;
    await(receiving);
    state_ = State::filling;
    return {};
  }
  // The barrier of the last round says that each neighbour has consumed the messages of the one before.
  [[nodiscard]] std::byte* outgoing(std::uint32_t port) override { return window().outgoing(port); }
  Status send(std::uint32_t port, std::uint64_t bytes) override { return window().put(port, half_of(round_), bytes); }
  Status all_sent() override {
    for (const std::uint32_t port : sending_) COUPLET_TRY(window().flush(port));
    state_ = State::flushing;
    return {};
  }
  Status poll() override {
    COUPLET_TRY(window().progress());
    if (state_ == State::flushing && window().is_idle()) {
      for (std::uint32_t port = 0; port < window().port_count(); ++port) {
        COUPLET_TRY(window().put_word(port, Word::round, round_ + 1));
      }
      state_ = State::meeting;
    }
    return meet();
  }
  [[nodiscard]] bool is_complete() const override { return state_ == State::met && window().is_idle(); }
  Status end() override {
    ++round_;
    state_ = State::idle;
    return {};
  }

 private:
  // Between rounds; messages are being put; all are put, and not yet there; the neighbours are awaited; all are here.
  enum class State : std::uint8_t { idle, filling, flushing, meeting, met };
  // A neighbour puts its word after its message. So the message is here, whatever the other neighbours do.
  Status meet() {
    for (const std::uint32_t port : receiving_) {
      if (!has_arrived(port) && window().word(port, Word::round) > round_) {
        COUPLET_TRY(take(port, half_of(round_)));
      }
    }
    if (state_ != State::meeting) return {};
    for (std::uint32_t port = 0; port < window().port_count(); ++port) {
      if (window().word(port, Word::round) <= round_) return {};
    }
    state_ = State::met;
    return {};
  }

  std::span<const std::uint32_t> sending_;
  std::span<const std::uint32_t> receiving_;
  std::uint64_t round_ = 0;
  State state_ = State::idle;
};

// Each member makes the same calls of `talk`, whatever fails: the others wait for it.
Result<std::unique_ptr<RdmaWindow>> make_window(const std::shared_ptr<link::Puts>& puts, const Setting& setting,
                                                Talk& talk) {
  auto window = RdmaWindow::open(puts, setting.ports);
  Result<std::vector<std::string>> texts = window.status();
  if (window.ok()) texts = (*window)->invitations();
  COUPLET_TRY(talk.agree(texts.status()));
  COUPLET_TRY_VALUE(const auto theirs, talk.swap(*texts));
  COUPLET_TRY(talk.agree((*window)->connect(theirs)));
  return window;
}

}  // namespace

Result<std::unique_ptr<Method>> RdmaFlagMaker::make(const Setting& setting, Talk& talk) {
  COUPLET_TRY_VALUE(auto window, make_window(puts_, setting, talk));
  return std::unique_ptr<Method>(std::make_unique<RdmaFlag>(std::move(window)));
}

Result<std::unique_ptr<Method>> RdmaBarrierMaker::make(const Setting& setting, Talk& talk) {
  COUPLET_TRY_VALUE(auto window, make_window(puts_, setting, talk));
  return std::unique_ptr<Method>(std::make_unique<RdmaBarrier>(std::move(window)));
}

}  // namespace couplet::exchange
