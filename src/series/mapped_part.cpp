#include <algorithm>

#include "base/types.hpp"
#include "series/part.hpp"
#include "series/slot_protocol.hpp"

namespace couplet::series {
namespace {

class MappedPart final : public Part {
 public:
  MappedPart(Environment& environment, std::unique_ptr<SeriesFile> file, const char* route)
      : environment_(environment), file_(std::move(file)), route_(route) {}

  [[nodiscard]] const char* route() const noexcept override { return route_; }
  [[nodiscard]] SeriesFile& file() noexcept override { return *file_; }
  [[nodiscard]] std::shared_ptr<SeriesFile> watched() override { return file_; }
  Status alive() override {
    const auto& geometry = file_->geometry();
    return environment_.alive(geometry.writer_peer, static_cast<std::uint16_t>(geometry.writer_incarnation));
  }

 private:
  Environment& environment_;
  std::shared_ptr<SeriesFile> file_;
  const char* route_;
};

bool same_fields(const std::vector<wire::SeriesField>& fields, const std::vector<universe::SeriesField>& described,
                 const std::vector<std::vector<layout::Box>>& boxes) {
  if (fields.size() != described.size() || fields.size() != boxes.size()) {
    return false;
  }
  for (std::size_t index = 0; index < fields.size(); ++index) {
    const auto& field = fields[index];
    const universe::SeriesField own{field.name, field.type, field.shape};
    if (own != described[index] || boxes_of(field) != boxes[index]) {
      return false;
    }
  }
  return true;
}

}  // namespace

Status check_described(const wire::SeriesGeometry& geometry, const universe::SeriesRecord& record, std::size_t part,
                       const std::string& where) {
  const auto& described = record.parts[part];
  if (geometry.name == record.name && geometry.slot_count == record.slots && geometry.writer_peer == described.writer &&
      same_fields(geometry.fields, record.fields, described.boxes)) {
    return {};
  }
  return fail(Code::protocol, "{}: these are not the slots that the register describes", where);
}

std::vector<wire::SeriesField> cut_fields(const std::vector<wire::SeriesField>& fields,
                                          const std::vector<FieldSelection>& selections) {
  std::vector<wire::SeriesField> cut;
  for (const FieldSelection& selection : selections) {
    wire::SeriesField field = fields[selection.field];
    field.boxes.clear();
    for (const auto& box : boxes_of(fields[selection.field])) {
      for (const auto& wanted : selection.boxes) {
        if (const auto common = layout::intersect(box, wanted)) {
          field.boxes.push_back({common->start, common->stop});
        }
      }
    }
    cut.push_back(std::move(field));
  }
  return cut;
}

Status Part::sleep(Waiting& waiting, std::uint64_t target) {
  auto& control = file().control().published;
  if (const auto word = prepare_sleep(control, target)) {
    return waiting.sleep_for_steps(control, *word);
  }
  return {};
}

std::unique_ptr<Part> make_mapped_part(Environment& environment, std::unique_ptr<SeriesFile> file, const char* route) {
  return std::make_unique<MappedPart>(environment, std::move(file), route);
}

Result<std::unique_ptr<Part>> open_mapped_part(Environment& environment, const universe::SeriesRecord& record,
                                               std::size_t part) {
  const auto& described = record.parts[part];
  const auto context = [&] { return fmt::format("series '{}', slots of writer rank {}", record.name, part); };
  if (described.file.empty() || described.file.find('/') != std::string::npos) {
    return fail(Code::protocol, "{}: '{}' is not the name of a file in the node directory", context(), described.file);
  }
  auto file = SeriesFile::open(environment.node_directory() + "/" + described.file);
  if (!file) {
    return file.status().within(context());
  }
  COUPLET_TRY(check_described((*file)->geometry(), record, part, fmt::format("{}, {}", context(), described.file)));
  return make_mapped_part(environment, std::move(file).value(), "mapped");
}

}  // namespace couplet::series
