// put_fence: MPI_Put, then MPI_Win_fence, which ends the epoch of the round and begins that of the next one. Two
// halves, so that one fence in a round is enough: while a member still reads the messages of a round, its neighbours
// put those of the next round into the other half, and cannot pass the fence behind them without it.
// All members of the team take part in each fence, also if they have no message in the round.
#include "exchange/mpi/call.hpp"
#include "exchange/mpi/methods.hpp"
#include "exchange/mpi/window.hpp"

namespace couplet::exchange {
namespace {

class PutFence final : public MpiMethod {
 public:
  using MpiMethod::MpiMethod;

  Result<std::vector<std::string>> prepare() override {
    COUPLET_TRY(out_.reserve(team(), Way::out));
    COUPLET_TRY(window_.open(team(), Window::most_halves, Window::Flags::none));
    COUPLET_TRY(check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_.get()), "MPI_Win_fence"));
    team().set_epoch(Team::Epoch::fence);
    lengths_.assign(port_count(), 0);
    return window_.places();
  }
  Status connect(std::span<const std::string> texts) override { return window_.connect(texts); }

  [[nodiscard]] bool blocks() const noexcept override { return true; }
  Status begin(std::span<const std::uint32_t> /*sending*/, std::span<const std::uint32_t> receiving) override {
    COUPLET_TRY(team().check_open());
    receiving_ = receiving;
    state_ = State::filling;
    return {};
  }
  [[nodiscard]] std::byte* outgoing(std::uint32_t number) override { return out_.payload(number); }
  Status send(std::uint32_t number, std::uint64_t bytes) override {
    set_length(out_.payload(number), bytes);
    return window_.put(number, half_, out_.payload(number), bytes);
  }
  Status all_sent() override {
    state_ = State::filled;
    return {};
  }
  Status poll() override {
    if (state_ != State::filled) {
      team().progress();
      return {};
    }
    COUPLET_TRY(check_mpi(MPI_Win_fence(0, window_.get()), "MPI_Win_fence"));
    state_ = State::arrived;
    for (const std::uint32_t number : receiving_) {
      lengths_[number] = length_of(window_.payload(number, half_));
      if (lengths_[number] > port(number).in_bytes) {
        return fail(Code::protocol,
                    "put_fence: member {} says that its message has {} bytes, but at most {} are agreed",
                    port(number).peer, lengths_[number], port(number).in_bytes);
      }
    }
    return {};
  }
  [[nodiscard]] bool has_arrived(std::uint32_t /*port*/) const override { return state_ == State::arrived; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t number) const override {
    return {window_.payload(number, half_), lengths_[number]};
  }
  [[nodiscard]] bool is_complete() const override { return state_ == State::arrived; }
  Status end() override {
    state_ = State::idle;
    half_ = 1 - half_;
    return {};
  }

 private:
  enum class State : std::uint8_t { idle, filling, filled, arrived };
  Window window_;
  Buffers out_;
  std::span<const std::uint32_t> receiving_;
  std::vector<std::uint64_t> lengths_;  // by port
  std::size_t half_ = 0;                // the one that this round uses at all members
  State state_ = State::idle;
};

}  // namespace

const MpiKind put_fence_kind = {"put_fence", nullptr, [](std::string_view name, std::shared_ptr<Team> team) {
                                  return std::unique_ptr<MpiMethod>(std::make_unique<PutFence>(name, std::move(team)));
                                }};

}  // namespace couplet::exchange
