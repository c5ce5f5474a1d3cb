// put_pscw: MPI_Win_post, MPI_Win_start, MPI_Put, MPI_Win_complete, MPI_Win_test. A member posts when it has consumed
// the messages of the round before, so that one half is enough and nothing else tells the sender what was consumed.
// MPI_Win_start may wait for the posts of the receivers, so it is called only in poll().
#include <map>

#include "exchange/mpi/call.hpp"
#include "exchange/mpi/methods.hpp"
#include "exchange/mpi/window.hpp"

namespace couplet::exchange {
namespace {

// A plan with edges of different periods has different neighbours in different rounds. So many sets are remembered, and
// the groups of others are made anew each time.
constexpr std::size_t max_groups = 64;

class PutPscw final : public MpiMethod {
 public:
  using MpiMethod::MpiMethod;

  Result<std::vector<std::string>> prepare() override {
    COUPLET_TRY(out_.reserve(team(), Way::out));
    COUPLET_TRY(window_.open(team(), 1, Window::Flags::none));
    lengths_.assign(port_count(), 0);
    return window_.places();
  }
  Status connect(std::span<const std::string> texts) override { return window_.connect(texts); }

  [[nodiscard]] bool blocks() const noexcept override { return true; }
  Status begin(std::span<const std::uint32_t> sending, std::span<const std::uint32_t> receiving) override {
    COUPLET_TRY(team().check_open());
    sending_ = sending;
    receiving_ = receiving;
    state_ = State::filling;
    if (receiving.empty()) {
      return {};
    }
    return with_group(receiving, [this](MPI_Group senders) {
      return check_mpi(MPI_Win_post(senders, 0, window_.get()), "MPI_Win_post");
    });
  }
  [[nodiscard]] std::byte* outgoing(std::uint32_t number) override { return out_.payload(number); }
  Status send(std::uint32_t number, std::uint64_t bytes) override {
    set_length(out_.payload(number), bytes);
    return {};
  }
  Status all_sent() override {
    state_ = State::filled;
    return {};
  }
  Status poll() override {
    if (state_ == State::filled) {
      COUPLET_TRY(put_all());
      state_ = State::put;
    }
    if (state_ != State::put) {
      team().progress();
      return {};
    }
    int done = 1;
    if (!receiving_.empty()) {
      COUPLET_TRY(check_mpi(MPI_Win_test(window_.get(), &done), "MPI_Win_test"));
    }
    return done != 0 ? take() : Status();
  }
  [[nodiscard]] bool has_arrived(std::uint32_t /*port*/) const override { return state_ == State::arrived; }
  [[nodiscard]] std::span<const std::byte> incoming(std::uint32_t number) const override {
    return {window_.payload(number, 0), lengths_[number]};
  }
  [[nodiscard]] bool is_complete() const override { return state_ == State::arrived; }
  Status end() override {
    state_ = State::idle;
    return {};
  }

 private:
  enum class State : std::uint8_t { idle, filling, filled, put, arrived };

  Status put_all() {
    if (sending_.empty()) {
      return {};
    }
    COUPLET_TRY(with_group(sending_, [this](MPI_Group receivers) {
      return check_mpi(MPI_Win_start(receivers, 0, window_.get()), "MPI_Win_start");
    }));
    for (const std::uint32_t number : sending_) {
      const std::byte* const payload = out_.payload(number);
      COUPLET_TRY(window_.put(number, 0, payload, length_of(payload)));
    }
    return check_mpi(MPI_Win_complete(window_.get()), "MPI_Win_complete");
  }
  Status take() {
    state_ = State::arrived;
    for (const std::uint32_t number : receiving_) {
      lengths_[number] = length_of(window_.payload(number, 0));
      if (lengths_[number] > port(number).in_bytes) {
        return fail(Code::protocol, "put_pscw: member {} says that its message has {} bytes, but at most {} are agreed",
                    port(number).peer, lengths_[number], port(number).in_bytes);
      }
    }
    return {};
  }
  template <typename Use>
  Status with_group(std::span<const std::uint32_t> ports, const Use& use) {
    key_.assign(ports.begin(), ports.end());
    if (const auto found = groups_.find(key_); found != groups_.end()) {
      return use(found->second);
    }
    COUPLET_TRY_VALUE(MPI_Group group, make_group(ports));
    if (groups_.size() < max_groups) {
      team().own_group(group);
      groups_.emplace(key_, group);
      return use(group);
    }
    Status used = use(group);
    MPI_Group_free(&group);
    return used;
  }
  Result<MPI_Group> make_group(std::span<const std::uint32_t> ports) {
    std::vector<int> ranks;
    for (const std::uint32_t number : ports) {
      ranks.push_back(team().rank_of(number));
    }
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group made = MPI_GROUP_NULL;
    COUPLET_TRY(check_mpi(MPI_Comm_group(team().comm(), &all), "MPI_Comm_group"));
    const int code = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &made);
    MPI_Group_free(&all);
    COUPLET_TRY(check_mpi(code, "MPI_Group_incl"));
    return made;
  }

  Window window_;
  Buffers out_;
  std::map<std::vector<std::uint32_t>, MPI_Group> groups_;
  std::vector<std::uint32_t> key_;
  std::span<const std::uint32_t> sending_;
  std::span<const std::uint32_t> receiving_;
  std::vector<std::uint64_t> lengths_;  // by port
  State state_ = State::idle;
};

}  // namespace

const MpiKind put_pscw_kind = {"put_pscw", nullptr, [](std::string_view name, std::shared_ptr<Team> team) {
                                 return std::unique_ptr<MpiMethod>(std::make_unique<PutPscw>(name, std::move(team)));
                               }};

}  // namespace couplet::exchange
