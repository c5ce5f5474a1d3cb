#include "exchange/mpi/methods.hpp"

#include <array>
#include <utility>

namespace couplet::exchange {
namespace {

constexpr std::array<const MpiKind*, 7> kinds = {&put_flag_kind, &persistent_kind, &isend_kind,   &neighbor_kind,
                                                 &put_lock_kind, &put_fence_kind,  &put_pscw_kind};

class MpiMaker final : public Maker {
 public:
  MpiMaker(const MpiKind& kind, std::shared_ptr<Job> job) : kind_(kind), job_(std::move(job)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return kind_.name; }
  [[nodiscard]] std::string_view substrate() const noexcept override { return job_->library(); }

  Result<std::unique_ptr<Method>> make(const Setting& setting, Talk& talk) override {
    const Status own = kind_.check == nullptr ? Status() : kind_.check(setting.ports);
    auto team = Team::open(job_, setting, talk, own);
    if (!team) {
      return team.status().within(kind_.name);
    }
    std::unique_ptr<MpiMethod> made = std::make_unique<IdleMethod>(kind_.name, *team);
    if (!(*team)->is_alone()) {
      made = kind_.make(kind_.name, *team);
    }
    if (const Status status = build(*made, (*team)->ports().size(), talk); !status.ok()) {
      (*team)->free_all();  // all members are here, since they have agreed
      job_->forget(team->get());
      return status.within(kind_.name);
    }
    return std::unique_ptr<Method>(std::move(made));
  }

 private:
  static Status build(MpiMethod& method, std::size_t port_count, Talk& talk) {
    auto texts = method.prepare();
    COUPLET_TRY(talk.agree(texts.status()));
    texts->resize(port_count);
    COUPLET_TRY_VALUE(const auto theirs, talk.swap(*texts));
    return talk.agree(method.connect(theirs));
  }

  const MpiKind& kind_;
  std::shared_ptr<Job> job_;
};

}  // namespace

std::vector<std::unique_ptr<Maker>> mpi_methods(const std::shared_ptr<Job>& job) {
  std::vector<std::unique_ptr<Maker>> makers;
  makers.reserve(kinds.size());
  for (const MpiKind* kind : kinds) {
    makers.push_back(std::make_unique<MpiMaker>(*kind, job));
  }
  return makers;
}

}  // namespace couplet::exchange
