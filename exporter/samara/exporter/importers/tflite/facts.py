# SPDX-License-Identifier: Apache-2.0
"""What the published schemas of TFLite models and of their metadata say; made by tools/gen_tflite.py.

A line is an enum (`E name value…`, `=` before a value that does not follow the one before), a union (`U name
table…`), or a table (`T name field:type=default…`, `-` for a field that is no longer used).
"""

from typing import Final

MODEL: Final = """
E TensorType FLOAT32 FLOAT16 INT32 UINT8 INT64 STRING BOOL INT16 COMPLEX64 INT8 FLOAT64 COMPLEX128 UINT64 RESOURCE
  VARIANT UINT32 UINT16 INT4 BFLOAT16 INT2 UINT4 FLOAT8_E4M3FN FLOAT8_E5M2
T CustomQuantization custom:[ubyte]
U QuantizationDetails CustomQuantization BlockwiseQuantization MultiAxisQuantization
T BlockwiseQuantization scales:int zero_points:int block_size:int
T MultiAxisQuantization scales:int zero_points:int block_size:int quantized_dimensions:[int]
T QuantizationParameters min:[float] max:[float] scale:[float] zero_point:[long] details:QuantizationDetails
  quantized_dimension:int
E DimensionType DENSE SPARSE_CSR
T Int32Vector values:[int]
T Uint16Vector values:[ushort]
T Uint8Vector values:[ubyte]
U SparseIndexVector Int32Vector Uint16Vector Uint8Vector
T DimensionMetadata format:DimensionType dense_size:int array_segments:SparseIndexVector
  array_indices:SparseIndexVector
T SparsityParameters traversal_order:[int] block_map:[int] dim_metadata:[DimensionMetadata]
T VariantSubType shape:[int] type:TensorType has_rank:bool=false
T Tensor shape:[int] type:TensorType buffer:uint name:string quantization:QuantizationParameters
  is_variable:bool=false sparsity:SparsityParameters shape_signature:[int] has_rank:bool=false
  variant_tensors:[VariantSubType] external_buffer:uint
E BuiltinOperator ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
  EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION
  LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX
  SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD
  UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE
  UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE
  BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL
  SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
  ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN
  FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE
  MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG
  QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND
  SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D
  CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE
  VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL
  GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
  UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE
  STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
  STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE
  STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM
  STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT
  STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE
  STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW
  STABLEHLO_SORT STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW
  STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
U BuiltinOptions Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions Pool2DOptions
  SVDFOptions RNNOptions FullyConnectedOptions SoftmaxOptions ConcatenationOptions AddOptions L2NormOptions
  LocalResponseNormalizationOptions LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions SkipGramOptions
  SpaceToDepthOptions EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions BatchToSpaceNDOptions
  SpaceToBatchNDOptions TransposeOptions ReducerOptions SubOptions DivOptions SqueezeOptions SequenceRNNOptions
  StridedSliceOptions ExpOptions TopKV2Options SplitOptions LogSoftmaxOptions CastOptions DequantizeOptions
  MaximumMinimumOptions ArgMaxOptions LessOptions NegOptions PadV2Options GreaterOptions GreaterEqualOptions
  LessEqualOptions SelectOptions SliceOptions TransposeConvOptions SparseToDenseOptions TileOptions ExpandDimsOptions
  EqualOptions NotEqualOptions ShapeOptions PowOptions ArgMinOptions FakeQuantOptions PackOptions LogicalOrOptions
  OneHotOptions LogicalAndOptions LogicalNotOptions UnpackOptions FloorDivOptions SquareOptions ZerosLikeOptions
  FillOptions BidirectionalSequenceLSTMOptions BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions
  FloorModOptions RangeOptions ResizeNearestNeighborOptions LeakyReluOptions SquaredDifferenceOptions MirrorPadOptions
  AbsOptions SplitVOptions UniqueOptions ReverseV2Options AddNOptions GatherNdOptions CosOptions WhereOptions
  RankOptions ReverseSequenceOptions MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions
  WhileOptions DepthToSpaceOptions NonMaxSuppressionV4Options NonMaxSuppressionV5Options ScatterNdOptions
  SelectV2Options DensifyOptions SegmentSumOptions BatchMatMulOptions CumsumOptions CallOnceOptions BroadcastToOptions
  Rfft2dOptions Conv3DOptions HashtableOptions HashtableFindOptions HashtableImportOptions HashtableSizeOptions
  VarHandleOptions ReadVariableOptions AssignVariableOptions RandomOptions BucketizeOptions GeluOptions
  DynamicUpdateSliceOptions UnsortedSegmentProdOptions UnsortedSegmentMaxOptions UnsortedSegmentMinOptions
  UnsortedSegmentSumOptions ATan2Options SignOptions BitcastOptions BitwiseXorOptions RightShiftOptions
U BuiltinOptions2 StablehloConcatenateOptions StablehloBroadcastInDimOptions StablehloSliceOptions
  StablehloConvolutionOptions StablehloCustomCallOptions StablehloReduceOptions StablehloScatterOptions
  StablehloCompareOptions StablehloDynamicSliceOptions StablehloPadOptions StablehloIotaOptions
  StablehloDotGeneralOptions StablehloReduceWindowOptions StablehloSortOptions StablehloWhileOptions
  StablehloGatherOptions StablehloTransposeOptions DilateOptions StablehloRngBitGeneratorOptions ReduceWindowOptions
  StableHLOCompositeOptions StablehloShiftLeftOptions StablehloCaseOptions
T StablehloGatherOptions offset_dims:[long] collapsed_slice_dims:[long] start_index_map:[long] index_vector_dim:long
  slice_sizes:[long] indices_are_sorted:bool
E StablehloPrecisionConfig DEFAULT HIGH HIGHEST
T StablehloReduceWindowOptions window_dimensions:[long] window_strides:[long] base_dilations:[long]
  window_dilations:[long] padding:[long] body_subgraph_index:int
E StablehloComparisonDirection STABLEHLO_COMPARISON_DIRECTION_EQ STABLEHLO_COMPARISON_DIRECTION_NE
  STABLEHLO_COMPARISON_DIRECTION_GE STABLEHLO_COMPARISON_DIRECTION_GT STABLEHLO_COMPARISON_DIRECTION_LE
  STABLEHLO_COMPARISON_DIRECTION_LT
E StablehloComparisonType STABLEHLO_COMPARISON_TYPE_NOTYPE STABLEHLO_COMPARISON_TYPE_FLOAT
  STABLEHLO_COMPARISON_TYPE_FLOAT_TOTAL_ORDER STABLEHLO_COMPARISON_TYPE_SIGNED STABLEHLO_COMPARISON_TYPE_UNSIGNED
T StablehloPadOptions edge_padding_low:[long] edge_padding_high:[long] interior_padding:[long]
T StablehloScatterOptions indices_are_sorted:bool update_window_dims:[long] inserted_window_dims:[long]
  scatter_dims_to_operand_dims:[long] index_vector_dim:long unique_indices:bool update_computation_subgraph_index:int
T StablehloCaseOptions branch_subgraph_indices:[int]
E RngAlgorithm DEFAULT PHILOX THREEFRY
E Padding SAME VALID
E ActivationFunctionType NONE RELU RELU_N1_TO_1 RELU6 TANH SIGN_BIT
T Conv2DOptions padding:Padding stride_w:int stride_h:int fused_activation_function:ActivationFunctionType
  dilation_w_factor:int=1 dilation_h_factor:int=1 quantized_bias_type:TensorType
T Conv3DOptions padding:Padding stride_d:int stride_w:int stride_h:int
  fused_activation_function:ActivationFunctionType dilation_d_factor:int=1 dilation_w_factor:int=1
  dilation_h_factor:int=1
T Pool2DOptions padding:Padding stride_w:int stride_h:int filter_width:int filter_height:int
  fused_activation_function:ActivationFunctionType
T DepthwiseConv2DOptions padding:Padding stride_w:int stride_h:int depth_multiplier:int
  fused_activation_function:ActivationFunctionType dilation_w_factor:int=1 dilation_h_factor:int=1
T ConcatEmbeddingsOptions num_channels:int num_columns_per_channel:[int] embedding_dim_per_channel:[int]
E LSHProjectionType UNKNOWN SPARSE DENSE
T LSHProjectionOptions type:LSHProjectionType
T SVDFOptions rank:int fused_activation_function:ActivationFunctionType asymmetric_quantize_inputs:bool
T RNNOptions fused_activation_function:ActivationFunctionType asymmetric_quantize_inputs:bool
T SequenceRNNOptions time_major:bool fused_activation_function:ActivationFunctionType asymmetric_quantize_inputs:bool
T BidirectionalSequenceRNNOptions time_major:bool fused_activation_function:ActivationFunctionType merge_outputs:bool
  asymmetric_quantize_inputs:bool
E FullyConnectedOptionsWeightsFormat DEFAULT SHUFFLED4x16INT8
T FullyConnectedOptions fused_activation_function:ActivationFunctionType
  weights_format:FullyConnectedOptionsWeightsFormat=DEFAULT keep_num_dims:bool asymmetric_quantize_inputs:bool
  quantized_bias_type:TensorType
T SoftmaxOptions beta:float
T ConcatenationOptions axis:int fused_activation_function:ActivationFunctionType
T AddOptions fused_activation_function:ActivationFunctionType pot_scale_int16:bool=true
T MulOptions fused_activation_function:ActivationFunctionType
T L2NormOptions fused_activation_function:ActivationFunctionType
T LocalResponseNormalizationOptions radius:int bias:float alpha:float beta:float
E LSTMKernelType FULL BASIC
T LSTMOptions fused_activation_function:ActivationFunctionType cell_clip:float proj_clip:float
  kernel_type:LSTMKernelType=FULL asymmetric_quantize_inputs:bool
T UnidirectionalSequenceLSTMOptions fused_activation_function:ActivationFunctionType cell_clip:float proj_clip:float
  time_major:bool asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool
T BidirectionalSequenceLSTMOptions fused_activation_function:ActivationFunctionType cell_clip:float proj_clip:float
  merge_outputs:bool time_major:bool=true asymmetric_quantize_inputs:bool
T ResizeBilinearOptions -:int -:int align_corners:bool half_pixel_centers:bool
T ResizeNearestNeighborOptions align_corners:bool half_pixel_centers:bool
T CallOptions subgraph:uint
T PadOptions
T PadV2Options
T ReshapeOptions new_shape:[int]
T SpaceToBatchNDOptions
T BatchToSpaceNDOptions
T SkipGramOptions ngram_size:int max_skip_size:int include_all_ngrams:bool
T SpaceToDepthOptions block_size:int
T DepthToSpaceOptions block_size:int
T SubOptions fused_activation_function:ActivationFunctionType pot_scale_int16:bool=true
T DivOptions fused_activation_function:ActivationFunctionType
T TopKV2Options
E CombinerType SUM MEAN SQRTN
T EmbeddingLookupSparseOptions combiner:CombinerType
T GatherOptions axis:int batch_dims:int=0
T TransposeOptions
T ExpOptions
T CosOptions
T ReducerOptions keep_dims:bool
T SqueezeOptions squeeze_dims:[int]
T SplitOptions num_splits:int
T SplitVOptions num_splits:int
T StridedSliceOptions begin_mask:int end_mask:int ellipsis_mask:int new_axis_mask:int shrink_axis_mask:int offset:bool
T LogSoftmaxOptions
T CastOptions in_data_type:TensorType out_data_type:TensorType
T DequantizeOptions
T MaximumMinimumOptions
T TileOptions
T ArgMaxOptions output_type:TensorType
T ArgMinOptions output_type:TensorType
T GreaterOptions
T GreaterEqualOptions
T LessOptions
T LessEqualOptions
T NegOptions
T SelectOptions
T SliceOptions
T TransposeConvOptions padding:Padding stride_w:int stride_h:int fused_activation_function:ActivationFunctionType=NONE
  quantized_bias_type:TensorType
T ExpandDimsOptions
T SparseToDenseOptions validate_indices:bool
T EqualOptions
T NotEqualOptions
T ShapeOptions out_type:TensorType
T RankOptions
T PowOptions
T FakeQuantOptions min:float max:float num_bits:int narrow_range:bool
T PackOptions values_count:int axis:int
T LogicalOrOptions
T OneHotOptions axis:int
T AbsOptions
T HardSwishOptions
T LogicalAndOptions
T LogicalNotOptions
T UnpackOptions num:int axis:int
T FloorDivOptions
T SquareOptions
T ZerosLikeOptions
T FillOptions
T FloorModOptions
T RangeOptions
T LeakyReluOptions alpha:float
T SquaredDifferenceOptions
E MirrorPadMode REFLECT SYMMETRIC
T MirrorPadOptions mode:MirrorPadMode
T UniqueOptions idx_out_type:TensorType=INT32
T ReverseV2Options
T AddNOptions
T GatherNdOptions
T WhereOptions
T ReverseSequenceOptions seq_dim:int batch_dim:int=0
T MatrixDiagOptions
T QuantizeOptions
T MatrixSetDiagOptions
T IfOptions then_subgraph_index:int else_subgraph_index:int
T CallOnceOptions init_subgraph_index:int
T WhileOptions cond_subgraph_index:int body_subgraph_index:int
T NonMaxSuppressionV4Options
T NonMaxSuppressionV5Options
T ScatterNdOptions
T SelectV2Options
T DensifyOptions
T SegmentSumOptions
T BatchMatMulOptions adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool
T CumsumOptions exclusive:bool reverse:bool
T BroadcastToOptions
T Rfft2dOptions
T HashtableOptions table_id:int key_dtype:TensorType value_dtype:TensorType
T HashtableFindOptions
T HashtableImportOptions
T HashtableSizeOptions
T VarHandleOptions container:string shared_name:string
T ReadVariableOptions
T AssignVariableOptions
T RandomOptions seed:long seed2:long
T BucketizeOptions boundaries:[float]
T GeluOptions approximate:bool
T DynamicUpdateSliceOptions
T UnsortedSegmentProdOptions
T UnsortedSegmentMaxOptions
T UnsortedSegmentSumOptions
T ATan2Options
T UnsortedSegmentMinOptions
T SignOptions
T BitcastOptions
T BitwiseXorOptions
T RightShiftOptions
T DilateOptions
E ReduceWindowFunction UNSUPPORTED ADD MUL MINIMUM MAXIMUM ALL ANY
T ReduceWindowOptions reduce_function:ReduceWindowFunction
T OperatorCode deprecated_builtin_code:byte custom_code:string version:int=1 builtin_code:BuiltinOperator
E CustomOptionsFormat FLEXBUFFERS
T StableHLOCompositeOptions name:string decomposition_subgraph_index:int32 composite_attributes:[ubyte]
  composite_attributes_format:CustomOptionsFormat version:int32
T StablehloShiftLeftOptions
T Operator opcode_index:uint inputs:[int] outputs:[int] builtin_options:BuiltinOptions custom_options:[ubyte]
  custom_options_format:CustomOptionsFormat mutating_variable_inputs:[bool] intermediates:[int]
  large_custom_options_offset:ulong large_custom_options_size:ulong builtin_options_2:BuiltinOptions2
  debug_metadata_index:int=-1
T SubGraph tensors:[Tensor] inputs:[int] outputs:[int] operators:[Operator] name:string debug_metadata_index:int=-1
T Buffer data:[ubyte] offset:ulong size:ulong
T ExternalBufferGroup name:string
T ExternalBuffer id:uint group:uint offset:ulong length:ulong packing:string
T Metadata name:string buffer:uint
T TensorMap name:string tensor_index:uint
T SignatureDef inputs:[TensorMap] outputs:[TensorMap] signature_key:string -:string subgraph_index:uint
T Model version:uint operator_codes:[OperatorCode] subgraphs:[SubGraph] description:string buffers:[Buffer]
  metadata_buffer:[int] metadata:[Metadata] signature_defs:[SignatureDef] external_buffer_groups:[ExternalBufferGroup]
  external_buffers:[ExternalBuffer]
"""

METADATA: Final = """
E AssociatedFileType UNKNOWN DESCRIPTIONS TENSOR_AXIS_LABELS TENSOR_VALUE_LABELS TENSOR_AXIS_SCORE_CALIBRATION
  VOCABULARY
T AssociatedFile name:string description:string type:AssociatedFileType locale:string
T FeatureProperties
E ColorSpaceType UNKNOWN RGB GRAYSCALE
T ImageSize width:uint height:uint
T ImageProperties color_space:ColorSpaceType default_size:ImageSize
E BoundingBoxType UNKNOWN BOUNDARIES UPPER_LEFT CENTER
E CoordinateType RATIO PIXEL
T BoundingBoxProperties index:[uint] type:BoundingBoxType coordinate_type:CoordinateType
U ContentProperties FeatureProperties ImageProperties BoundingBoxProperties
T ValueRange min:int max:int
T Content content_properties:ContentProperties range:ValueRange
T NormalizationOptions mean:[float] std:[float]
E ScoreTransformationType IDENTITY LOG INVERSE_LOGISTIC
T ScoreCalibrationOptions score_transformation:ScoreTransformationType default_score:float
T ScoreThresholdingOptions global_score_threshold:float
T BertTokenizerOptions vocab_file:[AssociatedFile]
T SentencePieceTokenizerOptions sentencePiece_model:[AssociatedFile] vocab_file:[AssociatedFile]
U ProcessUnitOptions NormalizationOptions ScoreCalibrationOptions ScoreThresholdingOptions BertTokenizerOptions
  SentencePieceTokenizerOptions
T ProcessUnit options:ProcessUnitOptions
T Stats max:[float] min:[float]
T TensorMetadata name:string description:string dimension_names:[string] content:Content process_units:[ProcessUnit]
  stats:Stats associated_files:[AssociatedFile]
T SubGraphMetadata name:string description:string input_tensor_metadata:[TensorMetadata]
  output_tensor_metadata:[TensorMetadata] associated_files:[AssociatedFile] input_process_units:[ProcessUnit]
  output_process_units:[ProcessUnit]
T ModelMetadata name:string description:string version:string subgraph_metadata:[SubGraphMetadata] author:string
  license:string associated_files:[AssociatedFile] min_parser_version:string
"""
