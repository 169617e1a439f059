"""JSON Schemas for the kinds of Kubernetes that deploy/k8s uses: every field that is there must be one that is known
here, so that a misspelt one is found without a cluster."""


def strict(**fields):
    """Returns the schema of an object without other fields; those whose name ends in _ are required."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name[:-1] for name in fields if name.endswith("_")],
        "properties": {name.rstrip("_"): value for name, value in fields.items()},
    }


def listed(item):
    """Returns the schema of a list of at least one."""
    return {"type": "array", "items": item, "minItems": 1}


def words(*choices):
    """Returns the schema of one of these texts."""
    return {"enum": list(choices)}


TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"}
PORT = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": 65535},
        {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,14}$"},
    ]
}
LABELS = {"type": "object", "additionalProperties": TEXT, "minProperties": 1}
DURATION = {"type": "string", "pattern": r"^\d+[smh]$"}
QUANTITY = {"anyOf": [NUMBER, {"type": "string", "pattern": r"^\d+(\.\d+)?(m|Ki|Mi|Gi|Ti)?$"}]}
AMOUNTS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": False,
    "properties": {"cpu": QUANTITY, "memory": QUANTITY, "storage": QUANTITY, "nvidia.com/gpu": NUMBER},
}
SELECTOR = strict(matchLabels_=LABELS)
METADATA = strict(name_=NAME, labels=LABELS, annotations=LABELS)
POD_METADATA = strict(labels_=LABELS, annotations=LABELS)

PROBE = strict(
    grpc=strict(port_=NUMBER, service=TEXT),
    httpGet=strict(path_=TEXT, port_=PORT),
    periodSeconds=NUMBER,
    timeoutSeconds=NUMBER,
    failureThreshold=NUMBER,
    initialDelaySeconds=NUMBER,
)
CONTAINER = strict(
    name_=NAME,
    image_={"type": "string", "pattern": r"^[a-z0-9./-]+:[\w.-]+$"},
    command=listed(TEXT),
    args=listed(TEXT),
    env=listed(strict(name_=TEXT, value_=TEXT)),
    ports=listed(strict(name_=PORT, containerPort_=NUMBER)),
    startupProbe=PROBE,
    readinessProbe=PROBE,
    livenessProbe=PROBE,
    resources_=strict(requests_=AMOUNTS, limits_=AMOUNTS),
    securityContext_=strict(
        allowPrivilegeEscalation_=FLAG, readOnlyRootFilesystem_=FLAG, capabilities_=strict(drop_=listed(TEXT))
    ),
    volumeMounts=listed(strict(name_=NAME, mountPath_=TEXT, readOnly=FLAG)),
)
VOLUME = strict(
    name_=NAME,
    configMap=strict(name_=NAME),
    persistentVolumeClaim=strict(claimName_=NAME, readOnly=FLAG),
    emptyDir=strict(medium=words("Memory"), sizeLimit=QUANTITY),
)
POD = strict(
    automountServiceAccountToken_=FLAG,
    enableServiceLinks=FLAG,
    terminationGracePeriodSeconds=NUMBER,
    restartPolicy=words("OnFailure", "Never"),
    containers_=listed(CONTAINER),
    volumes=listed(VOLUME),
    securityContext_=strict(
        runAsNonRoot_=FLAG,
        runAsUser=NUMBER,
        runAsGroup=NUMBER,
        fsGroup=NUMBER,
        seccompProfile=strict(type_=words("RuntimeDefault")),
    ),
    tolerations=listed(strict(key_=TEXT, operator_=words("Exists", "Equal"), effect=TEXT, value=TEXT)),
    nodeSelector=LABELS,
)
TEMPLATE = strict(metadata_=POD_METADATA, spec_=POD)
ACTION = words("FailIndex", "FailJob", "Ignore", "Count")
ON_EXIT_CODES = strict(
    action_=ACTION,
    onExitCodes_=strict(
        containerName=NAME,
        operator_=words("In", "NotIn"),
        values_={**listed({"type": "integer", "minimum": 1, "maximum": 255}), "uniqueItems": True},
    ),
)
ON_CONDITIONS = strict(action_=ACTION, onPodConditions_=listed(strict(type_=TEXT, status=words("True", "False"))))
PEER = strict(podSelector=SELECTOR, namespaceSelector=SELECTOR)
SPECS = {
    "Deployment": (
        "apps/v1",
        strict(
            selector_=SELECTOR,
            template_=TEMPLATE,
            replicas=NUMBER,
            strategy=strict(type=words("RollingUpdate"), rollingUpdate=strict(maxSurge=NUMBER, maxUnavailable=NUMBER)),
        ),
    ),
    "Service": (
        "v1",
        strict(
            clusterIP_=words("None"),
            selector_=LABELS,
            ports_=listed(strict(name_=PORT, port_=NUMBER, targetPort_=PORT, appProtocol=TEXT)),
        ),
    ),
    "PersistentVolumeClaim": (
        "v1",
        strict(
            accessModes_=listed(words("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")),
            resources_=strict(requests_=AMOUNTS),
            storageClassName=NAME,
        ),
    ),
    "NetworkPolicy": (
        "networking.k8s.io/v1",
        strict(
            podSelector_=SELECTOR,
            policyTypes_=listed(words("Ingress", "Egress")),
            egress={"type": "array", "maxItems": 0},
            ingress_=listed(
                strict(ports_=listed(strict(port_=PORT, protocol=words("TCP"))), **{"from_": listed(PEER)})
            ),
        ),
    ),
    "PodDisruptionBudget": ("policy/v1", strict(selector_=SELECTOR, maxUnavailable=NUMBER, minAvailable=NUMBER)),
    "HorizontalPodAutoscaler": (
        "autoscaling/v2",
        strict(
            scaleTargetRef_=strict(apiVersion_=TEXT, kind_=TEXT, name_=NAME),
            minReplicas=NUMBER,
            maxReplicas_=NUMBER,
            metrics_=listed(
                strict(
                    type_=words("Pods"),
                    pods_=strict(
                        metric_=strict(name_=TEXT, selector=SELECTOR),
                        target_=strict(type_=words("AverageValue"), averageValue_=QUANTITY),
                    ),
                )
            ),
            behavior=strict(scaleDown=strict(stabilizationWindowSeconds_=NUMBER)),
        ),
    ),
    "Pod": ("v1", POD),
    "ServiceMonitor": (
        "monitoring.coreos.com/v1",
        strict(jobLabel=TEXT, selector_=SELECTOR, endpoints_=listed(strict(port_=PORT, interval=DURATION))),
    ),
    "PrometheusRule": (
        "monitoring.coreos.com/v1",
        strict(
            groups_=listed(
                strict(
                    name_=TEXT,
                    rules_=listed(
                        strict(
                            alert_=TEXT,
                            expr_=TEXT,
                            labels_=strict(severity_=words("critical", "warning", "info")),
                            annotations_=strict(summary_=TEXT, description_=TEXT),
                            **{"for": DURATION},
                        )
                    ),
                )
            )
        ),
    ),
    "Job": (
        "batch/v1",
        strict(
            completionMode_=words("Indexed"),
            completions_=NUMBER,
            parallelism_=NUMBER,
            backoffLimit=NUMBER,
            backoffLimitPerIndex=NUMBER,
            podFailurePolicy=strict(rules_=listed({"oneOf": [ON_EXIT_CODES, ON_CONDITIONS]})),
            template_=TEMPLATE,
        ),
    ),
}


def schema_of(kind):
    """Returns the schema of a whole manifest of this kind; KeyError for one that deploy/k8s does not use."""
    head = {"kind_": words(kind), "metadata_": METADATA}
    if kind == "ConfigMap":
        return strict(apiVersion_=words("v1"), data_=LABELS, **head)
    version, spec = SPECS[kind]
    return strict(apiVersion_=words(version), spec_=spec, **head)
