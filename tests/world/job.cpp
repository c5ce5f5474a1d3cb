#include "job.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "layout/copy.hpp"

namespace world {
namespace {

using couplet::Result;
using couplet::Status;
using couplet::series::WindowSteps;

constexpr std::size_t window_bytes = std::size_t{1} << 20;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t word_bytes = 8;
constexpr Nanoseconds least_latency_ns = 2'000;
constexpr Nanoseconds most_latency_ns = 40'000;

class SimulatedWindow final : public couplet::series::Window {
 public:
  SimulatedWindow(Launch& launch, std::size_t rank) : launch_(launch), rank_(rank) {}

  [[nodiscard]] std::uint64_t job() const noexcept override { return launch_.number; }
  [[nodiscard]] bool has(couplet::channel::PeerId peer) const noexcept override {
    return std::any_of(launch_.ranks.begin(), launch_.ranks.end(), [&](const auto& rank) { return rank.peer == peer; });
  }
  [[nodiscard]] int rank() const noexcept override { return static_cast<int>(rank_); }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(launch_.ranks.size()); }
  [[nodiscard]] const std::string& library() const noexcept override { return library_; }
  [[nodiscard]] std::byte* memory_of(int rank, std::uint64_t offset, std::uint64_t bytes) const noexcept override {
    const auto& there = launch_.ranks[static_cast<std::size_t>(rank)];
    const bool near = there.process->node == mine().process->node;
    return launch_.mapped && near && offset + bytes <= window_bytes ? there.memory + offset : nullptr;
  }
  Result<Piece> reserve(std::uint64_t bytes) override;
  void give_back(const Piece& piece) noexcept override { mine().used = piece.offset; }
  Status get(int rank, std::uint64_t offset, void* target, std::uint64_t bytes) override {
    moves_.push_back({at(rank, offset), static_cast<std::byte*>(target), bytes, {}});
    return {};
  }
  Status put(int rank, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    const auto* const data = static_cast<const std::byte*>(source);
    moves_.push_back({nullptr, at(rank, offset), bytes, {data, data + bytes}});
    return {};
  }
  Status get_steps(int rank, const WindowSteps& steps) override;
  Status complete(int rank) override;
  void progress() noexcept override {
    ++mine().calls;
    kernel->changes.note();
  }
  [[nodiscard]] std::string sharing() const override { return {}; }
  [[nodiscard]] std::string choices() const override { return {}; }
  Result<bool> end() override {
    mine().ends = true;
    progress();
    return std::all_of(launch_.ranks.begin(), launch_.ranks.end(), [](const auto& rank) { return rank.ends; });
  }

 private:
  // What a call has begun. source is nullptr for a put, whose words were copied.
  struct Move {
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::uint64_t bytes = 0;
    std::vector<std::byte> words;
  };

  [[nodiscard]] Launch::Rank& mine() const noexcept { return launch_.ranks[rank_]; }
  [[nodiscard]] std::byte* at(int rank, std::uint64_t offset) const noexcept {
    return launch_.ranks[static_cast<std::size_t>(rank)].memory + offset;
  }
  static void carry_out(const Move& move);

  Launch& launch_;
  const std::size_t rank_;
  const std::string library_ = "a simulation";
  std::vector<Move> moves_;
};

Result<couplet::series::Window::Piece> SimulatedWindow::reserve(std::uint64_t bytes) {
  auto& rank = mine();
  const std::uint64_t wanted = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (rank.used + wanted > window_bytes) {
    return fail(couplet::Code::no_space, "{} bytes are needed in the simulated window, but only {} are left", wanted,
                window_bytes - rank.used);
  }
  const Piece piece{rank.memory + rank.used, rank.used};
  std::memset(piece.data, 0, wanted);
  rank.used += wanted;
  return piece;
}

Status SimulatedWindow::get_steps(int rank, const WindowSteps& steps) {
  const auto& plan = *steps.plan;
  for (std::uint64_t step = 0; step < steps.count; ++step) {
    const std::uint64_t source = steps.source_offset + step * steps.source_step + plan.source_offset;
    std::byte* const target = steps.target + static_cast<std::int64_t>(step) * steps.target_step + plan.target_offset;
    for (std::uint64_t run = 0; run < plan.runs(); ++run) {
      std::uint64_t from = source;
      std::byte* to = target;
      std::uint64_t left = run;
      for (int index = plan.loop_count - 1; index >= 0; --index) {
        const auto& loop = plan.loops[static_cast<std::size_t>(index)];
        from += left % loop.count * loop.source_stride;
        to += left % loop.count * loop.target_stride;
        left /= loop.count;
      }
      COUPLET_TRY(get(rank, from, to, plan.run_bytes));
    }
  }
  return {};
}

// Copies the words in an order of its own: from the first to the last one, or from the last to the first one. Each
// other process may run in between.
void SimulatedWindow::carry_out(const Move& move) {
  const bool backwards = kernel->random().chance(0.5);
  const std::uint64_t words = (move.bytes + word_bytes - 1) / word_bytes;
  for (std::uint64_t index = 0; index < words; ++index) {
    const std::uint64_t offset = (backwards ? words - 1 - index : index) * word_bytes;
    const std::uint64_t bytes = std::min<std::uint64_t>(word_bytes, move.bytes - offset);
    const std::byte* const source = move.source != nullptr ? move.source : move.words.data();
    std::memcpy(move.target + offset, source + offset, bytes);
    if (kernel->random().chance(0.05)) {
      kernel->step();
    }
  }
}

// Carries out what was begun, in any order. It may be that of another rank than the one that is asked for.
Status SimulatedWindow::complete(int rank) {
  kernel->step();
  auto& there = launch_.ranks[static_cast<std::size_t>(rank)];
  auto moves = std::move(moves_);
  moves_.clear();
  if (moves.empty()) {
    return {};
  }
  const Nanoseconds latency_ns = kernel->random().between(least_latency_ns, most_latency_ns);
  kernel->block([] { return false; }, kernel->now() + latency_ns);
  if (launch_.served && &there != &mine()) {
    kernel->block([&there, before = there.calls] { return there.calls != before || there.ends; });
  }
  while (!moves.empty()) {
    const auto next = moves.begin() + static_cast<std::ptrdiff_t>(kernel->random().below(moves.size()));
    carry_out(*next);
    moves.erase(next);
  }
  kernel->changes.note();
  return {};
}

}  // namespace

Launch::Launch(std::size_t size, bool is_mapped, bool is_served)
    : number(kernel->random().next()), mapped(is_mapped), served(is_served), ranks(size) {
  for (Rank& rank : ranks) {
    rank.memory = static_cast<std::byte*>(
        ::mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
}

int Launch::agree(std::size_t rank, int answer) {
  kernel->step();
  const std::uint64_t round = ranks[rank].rounds++;
  if (worst_.size() <= round) {
    worst_.push_back(answer);
  }
  worst_[round] = std::min(worst_[round], answer);
  kernel->changes.note();
  kernel->block(
      [&] { return std::all_of(ranks.begin(), ranks.end(), [&](const Rank& each) { return each.rounds > round; }); });
  return worst_[round];
}

std::unique_ptr<couplet::series::Window> Launch::open_window(std::size_t rank, couplet::channel::PeerId self) {
  ranks[rank].peer = self;
  agree(rank, 0);
  return std::make_unique<SimulatedWindow>(*this, rank);
}

}  // namespace world
