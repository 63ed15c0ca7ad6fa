"""Why tests of scikit-learn do not hold for our estimators, by the name of the test."""

from __future__ import annotations

TOL = (
    "tol bounds the relative duality gap, not a step or a gradient: at the tol of this test "
    "coefficients agree to about its square root, which is fewer digits than are asked for."
)
NAMES = (
    "Names of solvers that we do not have stand for 'auto', which takes all data and penalties: "
    "there is nothing to refuse, and nothing to warn of."
)
QUICKER = "The solver is done within the passes that the test expects to be too few."
WORDS = "The warning or error comes, in other words."
PRIVATE = "The test calls or replaces private parts of scikit-learn."
LABELS = (
    "Scorers are called as they are, so that the Brier score does not know of labels that a fold "
    "lacks; scikit-learn rebuilds scorers from their private parts."
)
GRAM = "precompute has no effect: a Gram matrix that is passed in is not looked at."
SILENT = "A parameter that has no effect beside another is not warned of."
DEPRECATED = "scikit-learn warns of changes to its own interface; ours has nothing to phase out."
TINY = (
    "alpha = 1e-16: no dual point can certify so small a strength in float64, and the coefficients "
    "are those of the last iterate."
)

REASONS: dict[str, str] = {
    # ---- test_ridge ----
    "test_ridge_regression": "`solver_` names the algorithm that was run.",
    "test_regularization_limits_ridge": TINY,
    "test_regularization_limits_ridge_gcv": TINY + " Also, gcv_mode has no effect, so that no "
    "FutureWarning is due.",
    "test_n_iter": "n_iter_ counts passes; a step of Newton's is several.",
    "test_ridge_fit_intercept_sparse_error": NAMES,
    "test_ridge_fit_intercept_sparse_sag": NAMES,
    "test_dtype_match": "liblinear's float64 (LogisticRegression): float32 is kept with every "
    "solver name.",
    "test_ridge_positive_error_test": NAMES,
    "test_lbfgs_solver_error": QUICKER,
    # ---- test_logistic ----
    "test_logistic_glmnet": TOL,
    "test_check_solver_option": NAMES,
    "test_consistency_path": TOL,
    "test_liblinear_dual_random_state": "'liblinear' stands for 'auto', which draws nothing: "
    "all seeds give the same.",
    "test_logistic_cv_multinomial_score": PRIVATE,
    "test_logistic_cv_folds_with_classes_missing": LABELS,
    "test_multinomial_cv_iris": LABELS,
    "test_logistic_regression_solvers_multiclass_unpenalized": TOL,
    "test_logistic_regressioncv_class_weights": TOL,
    "test_logreg_predict_proba_multinomial": PRIVATE,
    "test_max_iter": WORDS,
    "test_LogisticRegression_elastic_net_objective": "The objective of the test has C times the "
    "mean loss, not the sum, so that a fit to tol is not the least there.",
    # ---- test_coordinate_descent ----
    "test_enet_nonfinite_params": WORDS,
    "test_lasso_dual_gap": "The gap of 1e-14 is at rounding, where the formula of the test and "
    "ours differ in the last digits of P.",
    "test_enet_alpha_max": "eps must be less than 1: the smallest alpha is less than the largest.",
    "test_lasso_alpha_warning": "alpha=0 converges, and is certified: there is nothing to warn of.",
    "test_uniform_targets": "Equal to 10 digits, not to the last bit: alpha = 1e-15 is no penalty.",
    "test_1d_multioutput_enet_and_multitask_enet_cv": TOL,
    "test_1d_multioutput_lasso_and_multitask_lasso_cv": TOL,
    "test_elasticnet_precompute_incorrect_gram": GRAM,
    "test_overridden_gram_matrix": GRAM,
    "test_warm_start_convergence": "n_iter_ is at least 1, as scikit-learn's checks ask for.",
    "test_warm_start_convergence_with_regularizer_decrement": "All three fits take two passes.",
    "test_check_input_false": "check_input=False has no effect: input is always checked.",
    "test_enet_coordinate_descent_raises_convergence": QUICKER,
    "test_enet_copy_X_False_check_input_False": "X is never written to, copy_X=False or not.",
    "test_lassoCV_does_not_set_precompute": PRIVATE,
    # ---- test_logistic: what scikit-learn says of its own parameters ----
    "test_LogisticRegressionCV_on_folds": TOL,
    "test_l1_ratio_non_elasticnet": SILENT,
    "test_penalty_none": SILENT,
    "test_lr_penalty_l1ratio_incompatible": SILENT,
    "test_penalty_deprecated": DEPRECATED,
    "test_logisticregressioncv_warns_with_use_legacy_attributes": DEPRECATED,
    "test_l1_ratio_None_deprecated": DEPRECATED,
    "test_logisticregression_warns_with_n_jobs": DEPRECATED,
    "test_lr_scoring_warns": DEPRECATED,
    "test_large_sparse_matrix": NAMES + " Indices of 64 bits are taken too.",
    "test_liblinear_with_large_values": NAMES,
    "test_newton_cholesky_fallback_to_lbfgs": NAMES,
    "test_lr_cv_scores_differ_when_sample_weight_is_requested": "score takes sample_weight "
    "also where the scorer has not requested it, and leaves it out then.",
    "test_zero_max_iter": "n_iter_ is at least 1, as scikit-learn's checks ask for.",
    "test_logistic_regression_callback_support": "A callback hears of each check of the "
    "gap; n_iter_ counts passes, and a step of Newton's is several.",
    # ---- test_huber ----
    "test_huber_equals_lr_for_high_epsilon": TOL,
    "test_huber_warm_start": "n_iter_ is at least 1, as scikit-learn's checks ask for.",
}
