// The part that the calls on series share: turns options and lists of C into those of series, and batches back.
// Neighbours: series.cpp (one array), series_fields.cpp (several).
// Tests: tests/languages.
#pragma once

#include <memory>
#include <vector>

#include "capi/call.hpp"
#include "series/reader.hpp"
#include "series/writer.hpp"

namespace couplet::capi {

Result<layout::Box> make_box(std::int32_t dimensions, const std::int64_t* start, const std::int64_t* stop,
                             const char* function);
// Returns a group of the same universe, or the program's own group.
Result<message::Group*> group_of(couplet_universe* universe, const couplet_group* group, const char* function);
// Returns the box that this rank writes. Without start and stop it is the whole array, if one rank writes alone.
Result<layout::Box> written_box(std::int32_t dimensions, const std::int64_t* shape, const std::int64_t* start,
                                const std::int64_t* stop, const message::Group& group, const char* function);
void keep(couplet_universe* universe, std::unique_ptr<couplet_series> made, couplet_series** out);
// A specification that this rank's caller got wrong is an error on all ranks of the group, which are told.
Status create_series(couplet_universe* universe, message::Group& group, const char* name,
                     const Result<series::WriterSpecification>& specification,
                     const couplet_series_create_options& options, couplet_series** out);
Result<std::vector<series::FieldChoice>> choices_of(const couplet_series_open_options& options, const char* function);
// A copy of the weights; nullptr: none are given.
Result<std::shared_ptr<const series::Weights>> weights_of(const couplet_series_open_options& options,
                                                          const char* function);

// What is wrong with the arguments that all reads have.
[[nodiscard]] Status check_read(const couplet_series_batch* batch, double timeout_s, const char* function);
[[nodiscard]] Status wrong_end(const char* function, const char* opened_for);
// Returns a state error if the series has several arrays; `other` is the function for those.
[[nodiscard]] Status check_one_array(const couplet_series& series, const char* function, const char* other);
[[nodiscard]] const couplet_series::Described& described(couplet_series& series);
Status give_batch(couplet_series& series, const series::Batch& got, couplet_series_batch* batch, const char* function);

}  // namespace couplet::capi
