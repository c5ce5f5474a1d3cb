#include "support/fake_window.hpp"

#include <algorithm>

#include "layout/copy.hpp"

namespace couplet::testing {
namespace {

class FakeWindow final : public series::Window {
 public:
  FakeWindow(std::shared_ptr<FakeJob> job, int rank) : job_(std::move(job)), rank_(rank) {}

  [[nodiscard]] std::uint64_t job() const noexcept override { return job_->number; }
  [[nodiscard]] bool has(channel::PeerId peer) const noexcept override { return job_->has(peer); }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return FakeJob::ranks; }
  [[nodiscard]] const std::string& library() const noexcept override { return library_; }
  [[nodiscard]] std::byte* memory_of(int rank, std::uint64_t offset, std::uint64_t /*bytes*/) const noexcept override {
    const int size = job_->ranks_a_node;
    return rank / size == rank_ / size ? job_->at(rank, offset) : nullptr;
  }
  [[nodiscard]] std::string sharing() const override { return {}; }
  Result<Piece> reserve(std::uint64_t bytes) override { return job_->reserve(rank_, bytes); }
  void give_back(const Piece& piece) noexcept override { job_->give_back(rank_, piece); }
  Status get(int rank, std::uint64_t offset, void* target, std::uint64_t bytes) override {
    constexpr std::uint64_t word = 8;
    job_->before_get();
    auto* const to = static_cast<std::byte*>(target);
    const std::uint64_t first = std::min(word, bytes);
    layout::copy_run(to, job_->at(rank, offset), first, layout::CopyMethod::cached);
    job_->within_get(bytes);
    layout::copy_run(to + first, job_->at(rank, offset) + first, bytes - first, layout::CopyMethod::cached);
    return {};
  }
  Status put(int rank, std::uint64_t offset, const void* source, std::uint64_t bytes) override {
    layout::copy_run(job_->at(rank, offset), static_cast<const std::byte*>(source), bytes, layout::CopyMethod::cached);
    return {};
  }
  Status get_steps(int rank, const series::WindowSteps& steps) override {
    for (std::uint64_t step = 0; step < steps.count; ++step) {
      layout::copy_racing(*steps.plan, steps.target + static_cast<std::int64_t>(step) * steps.target_step,
                          job_->at(rank, steps.source_offset + step * steps.source_step), layout::CopyMethod::cached);
    }
    return {};
  }
  Status complete(int /*rank*/) override {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return {};
  }
  void progress() noexcept override {}
  [[nodiscard]] std::string choices() const override { return {}; }
  Result<bool> end() override { return true; }

 private:
  std::shared_ptr<FakeJob> job_;
  int rank_;
  std::string library_ = "a test";
};

}  // namespace

int FakeJob::rank_of(channel::PeerId peer) {
  const std::lock_guard lock(mutex_);
  return ranks_.try_emplace(peer, static_cast<int>(ranks_.size())).first->second;
}

bool FakeJob::has(channel::PeerId peer) {
  const std::lock_guard lock(mutex_);
  return ranks_.count(peer) > 0;
}

Result<series::Window::Piece> FakeJob::reserve(int rank, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto block = std::make_unique<os::MemoryBlock>();
  COUPLET_TRY_VALUE(std::byte* const data, block->reserve(bytes));
  blocks_[rank].push_back(std::move(block));
  data_[rank].push_back(data);
  return series::Window::Piece{data, (data_[rank].size() - 1) * distance};
}

void FakeJob::give_back(int rank, const series::Window::Piece& piece) noexcept {
  const std::lock_guard lock(mutex_);
  if (!data_[rank].empty() && data_[rank].back() == piece.data) {
    data_[rank].pop_back();
    blocks_[rank].pop_back();
  }
}

std::size_t FakeJob::pieces(int rank) {
  const std::lock_guard lock(mutex_);
  return data_[rank].size();
}

std::byte* FakeJob::at(int rank, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  return data_[rank].at(offset / distance) + offset % distance;
}

std::unique_ptr<series::Window> open_fake_window(std::shared_ptr<FakeJob> job, channel::PeerId self) {
  const int rank = job->rank_of(self);
  return std::make_unique<FakeWindow>(std::move(job), rank);
}

}  // namespace couplet::testing
